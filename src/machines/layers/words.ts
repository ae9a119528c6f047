/** What stands in the conversation for what a layer took out of it. Pure: the same words at every fold. */
import { firstUnits, imagesOfResult, lastUnits, textOfResult } from '../cut.ts'
import type { ImageBlock, TextBlock, ToolResultBlock } from '../messages.ts'
import { POLICY } from './policy.ts'

type Content = ToolResultBlock['content']

/** A status in brackets at an output's end, such as an exit code, stays in sight up to this length. */
const LONGEST_STATUS = 400

/**
 * @param paths where the whole text is, relative to the working directory; none where it could not be written
 * @param size the whole's, in words, where the content is not the whole
 * @returns the beginning of a long result, its size and where the rest is; images stay in sight
 */
export function previewOf(
  content: Content,
  paths: string[],
  size = `${textOfResult(content).length} characters`,
): Content {
  const text = textOfResult(content)
  const shown = firstUnits(text, POLICY.preview)
  const status = /\n(\[[^\n]*\])\s*$/.exec(lastUnits(text, LONGEST_STATUS))?.[1]
  const [path] = paths
  const where =
    path === undefined
      ? 'The rest could not be saved and is lost; run the call again with less output if you need it.'
      : `The text is in ${path}: search it with grep, or read parts of it with read_file (offset, limit).`
  const words = [
    `[This result has ${size}; only its first ${shown.length} characters are shown. ${where}]`,
    shown,
    ...(status === undefined || shown.length === text.length ? [] : ['[…]', status]),
  ].join('\n')
  return withImages(words, imagesOfResult(content))
}

function withImages(text: string, images: ImageBlock[]): Content {
  const block: TextBlock = { type: 'text', text }
  return images.length === 0 ? text : [block, ...images]
}

/** @returns the line that stands for an old result. */
export function placeholderOf(content: Content, paths: string[]): string {
  const images = imagesOfResult(content).length
  const size = images === 0 ? `${textOfResult(content).length} characters` : `${images} image(s) and the text with them`
  return `[Old result put away. It is in ${paths.join(', ')} (${size}); read it there.]`
}

/** @returns the block that stands for messages left out of the middle. */
export function snipMark(count: number, paths: string[]): TextBlock {
  const where = paths.length === 1 ? paths[0] : `${paths.slice(0, -1).join(', ')} and ${paths.at(-1)}`
  return {
    type: 'text',
    text: `[${count} messages of this conversation were left out here to save room. They are in ${where}, one a line as JSON; look there for what is missing.]`,
  }
}

/** Stands before the current request where its own message was left out. */
export const REQUEST_MARK: TextBlock = {
  type: 'text',
  text: 'The message with the user’s current request was among them. You are at work on it; word for word it is:',
}
