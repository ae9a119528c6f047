/** What is told once however often it comes up. Pure, so every folder that warns may use it. */

/** @returns `say` without the sentences it has had before */
export function once(say: (message: string) => void): (message: string) => void {
  const said = new Set<string>()
  return (message) => {
    if (said.has(message)) return
    said.add(message)
    say(message)
  }
}
