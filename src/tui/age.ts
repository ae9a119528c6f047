/** How long ago something was, in few columns. */

const UNITS: Array<[name: string, seconds: number]> = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
]

/**
 * @param time ISO 8601
 * @param now milliseconds since 1970
 * @returns `now`, `5m ago`, `3h ago`, `12d ago`; nothing where the time is none
 */
export function ageOf(time: string, now: number): string {
  const seconds = (now - Date.parse(time)) / 1_000
  if (Number.isNaN(seconds)) return ''
  for (const [name, size] of UNITS) if (seconds >= size) return `${Math.floor(seconds / size)}${name} ago`
  return 'now'
}
