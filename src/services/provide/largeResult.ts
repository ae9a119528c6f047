/** A result too long for the conversation goes whole to disk the moment it arrives (contract.md, 9). */
import { firstUnits, imagesOfResult, lastUnits, textOfResult } from '../../machines/cut.ts'
import type { ToolFinishedRecord } from '../../machines/journal.ts'
import { POLICY } from '../../machines/layers/policy.ts'
import { previewOf } from '../../machines/layers/words.ts'
import { count } from '../../machines/words.ts'
import type { Spooled } from '../ports.ts'
import type { RunDeps } from './deps.ts'

type Result = Pick<ToolFinishedRecord, 'content' | 'saved'>
type Content = ToolFinishedRecord['content']

/** Of a result that cannot be saved, UTF-16 units kept of each end; with the note less than what counts as large. */
const KEPT_OF_END = 14_000

/**
 * @param spooled the file that took the whole while it came, where `content` is only a part
 * @returns the result as the model gets it: as it is, or its beginning and where the whole is
 */
export async function keepLarge(deps: RunDeps, id: string, content: Content, spooled: Spooled | null): Promise<Result> {
  if (spooled !== null) return { content: previewOf(content, [spooled.path], sizeOf(spooled)), saved: [spooled.path] }
  const text = textOfResult(content)
  if (text.length <= POLICY.largeResult) return { content }
  const written = await deps.outputs.saveResult(id, content)
  if (!written.ok) return { content: cutContent(content, text, written.message) }
  return { content: previewOf(content, written.value), saved: written.value }
}

function sizeOf({ bytes, leftOut }: Spooled): string {
  return leftOut === 0
    ? count(bytes, 'byte')
    : `${count(bytes + leftOut, 'byte')}, of which the file has the first ${bytes}`
}

function cutContent(content: Content, text: string, why: string): Content {
  const head = firstUnits(text, KEPT_OF_END)
  const tail = lastUnits(text, KEPT_OF_END)
  const left = text.length - head.length - tail.length
  const shown = `${head}\n[… ${count(left, 'character')} left out; they could not be saved: ${firstUnits(why, 300)} …]\n${tail}`
  const images = imagesOfResult(content)
  return images.length === 0 ? shown : [{ type: 'text', text: shown }, ...images]
}
