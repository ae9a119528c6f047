/**
 * What settings of a project may not do. They may lower rights (deny, ask, a budget); these keys would raise
 * them and count only from the user's own files, or in a directory the user trusts (contract.md, section 8).
 */

/** The one list: paths of keys that raise rights, from the top of a settings file. */
export const RAISES_RIGHTS: ReadonlyArray<readonly string[]> = [
  ['permissions', 'allow'],
  ['hooks'],
  ['env'],
  ['base_url'],
  ['mcpServers'],
  ['store'],
  ['sandbox'],
]

/**
 * Takes the keys that raise rights out of a project's settings.
 * @param value a settings file's value as it was read
 * @returns the rest, and the removed keys with dots between the steps
 */
export function withoutRights(value: Record<string, unknown>): { rest: Record<string, unknown>; removed: string[] } {
  let rest = value
  const removed: string[] = []
  for (const path of RAISES_RIGHTS) {
    const without = omit(rest, path)
    if (without === null) continue
    rest = without
    removed.push(path.join('.'))
  }
  return { rest, removed }
}

/** @returns a copy without the key at the path, or null where there is no such key. */
function omit(value: Record<string, unknown>, path: readonly string[]): Record<string, unknown> | null {
  const [key = '', ...deeper] = path
  if (!Object.hasOwn(value, key)) return null
  if (deeper.length === 0) return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key))
  const child = value[key]
  if (child === null || typeof child !== 'object' || Array.isArray(child)) return null
  const without = omit(child as Record<string, unknown>, deeper)
  return without === null ? null : { ...value, [key]: without }
}
