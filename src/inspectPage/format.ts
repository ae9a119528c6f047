/** Numbers as people read them. */

/** @param ms milliseconds */
export function duration(ms: number): string {
  if (ms < 1) return ''
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 60_000) return `${Math.round(ms / 1000)} s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes} m ${String(Math.floor((ms % 60_000) / 1000)).padStart(2, '0')} s`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${String(minutes % 60).padStart(2, '0')} m` : `${Math.floor(hours / 24)} days`
}

export function tokens(count: number): string {
  if (count < 1000) return String(count)
  if (count < 999_950) return `${(count / 1000).toFixed(1)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
}

/** @param usd null where a price is not known */
export function money(usd: number | null): string {
  if (usd === null) return 'price unknown'
  return usd === 0 ? '$0' : usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`
}

export function percent(part: number, whole: number): string {
  return whole === 0 ? '' : `${Math.round((100 * part) / whole)} %`
}

export function number(value: number): string {
  return value.toLocaleString('en')
}

export function many(count: number, what: string): string {
  return `${number(count)} ${what}${count === 1 ? '' : 's'}`
}

/** @param at milliseconds since 1970 */
export function clock(at: number): string {
  const date = new Date(at)
  const two = (value: number, width = 2): string => String(value).padStart(width, '0')
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${two(date.getMilliseconds(), 3)}`
}

/** @returns an event as people read it: `callModel done`, `interrupt` */
export function eventLabel(event: string): string {
  const actor = /^xstate\.(done|error)\.actor\.(.+)$/.exec(event)
  return actor === null ? event : `${actor[2]} ${actor[1] === 'done' ? 'done' : 'failed'}`
}
