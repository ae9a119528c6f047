/** Numbers in sentences. */

/**
 * @param number a whole number
 * @param one the word for one thing
 * @param many the word for all other numbers; by default `one` with an s
 * @returns `1 model call`, `2 model calls`, `0 replies`
 */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`
}
