/** Names from outside made fit to stand in one line of a prompt or a message. */
import { printable } from '../text.ts'

/**
 * @returns the path as it is, or as a JSON string where it has control characters or line ends: a directory's
 * name must not be able to add lines to the prompt.
 */
export function showPath(path: string): string {
  return path === oneLine(path) ? path : JSON.stringify(path)
}

/** @returns the text with control characters and line ends made visible; the same text where there are none. */
export function oneLine(text: string): string {
  return printable(text.replace(/[\r\n\t\u2028\u2029]/g, (character) => JSON.stringify(character).slice(1, -1)))
}
