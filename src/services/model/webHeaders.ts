/**
 * The part of the web's `Headers` that the SDK reads and writes. Node's own loads its whole fetch (tens of
 * milliseconds and megabytes at start-up); the build injects this class for the global of the same name.
 */

type Init = Headers | Iterable<readonly [string, string]> | Record<string, string> | undefined

/** Header fields by name, without regard to case; iterated in lower case. */
export class Headers implements Iterable<[string, string]> {
  readonly #fields = new Map<string, string>()

  constructor(init?: Init) {
    if (init === undefined) return
    const rows = Symbol.iterator in init ? init : Object.entries(init)
    for (const [name, value] of rows) this.append(name, value)
  }

  append(name: string, value: string): void {
    const before = this.get(name)
    this.set(name, before === null ? value : `${before}, ${value}`)
  }

  set(name: string, value: string): void {
    this.#fields.set(name.toLowerCase(), String(value).trim())
  }

  get(name: string): string | null {
    return this.#fields.get(name.toLowerCase()) ?? null
  }

  has(name: string): boolean {
    return this.#fields.has(name.toLowerCase())
  }

  delete(name: string): void {
    this.#fields.delete(name.toLowerCase())
  }

  forEach(callback: (value: string, name: string) => void): void {
    for (const [name, value] of this.#fields) callback(value, name)
  }

  entries(): IterableIterator<[string, string]> {
    return this.#fields.entries()
  }

  keys(): IterableIterator<string> {
    return this.#fields.keys()
  }

  values(): IterableIterator<string> {
    return this.#fields.values()
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries()
  }
}
