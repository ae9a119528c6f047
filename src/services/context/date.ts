/**
 * @returns the day as YYYY-MM-DD in the local time zone (TZ; UTC where it is invalid), in ASCII digits of the
 * Gregorian calendar whatever the locale: the parts of a Date know no locale.
 */
export function localDate(now: Date): string {
  const pad = (value: number, width: number): string => String(value).padStart(width, '0')
  return `${pad(now.getFullYear(), 4)}-${pad(now.getMonth() + 1, 2)}-${pad(now.getDate(), 2)}`
}
