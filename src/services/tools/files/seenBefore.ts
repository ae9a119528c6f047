/** What the agent saw of files before this process began, for sessions that go on. */
import type { JournalEntry } from '../../../machines/journal.ts'
import type { ToolUseBlock } from '../../../machines/messages.ts'
import type { SeenFiles } from '../../ports.ts'
import { absolutePath, realTarget } from './paths.ts'

const LOOKS: ReadonlySet<string> = new Set(['read_file', 'write_file', 'edit_file'])

/**
 * The journal holds no hashes but the time of each look, so a file that was changed after the last one counts as
 * changed: the user's work between two runs is not overwritten from what the agent remembers.
 * @param entries a session's entries, in order
 * @returns the start of a run's `ToolEnv.seen`
 */
export function seenBefore(entries: readonly JournalEntry[]): SeenFiles {
  const seen: SeenFiles = new Map()
  const looks = new Map<string, string>()
  let cwd = ''
  for (const { record, at } of entries) {
    switch (record.type) {
      case 'opened':
      case 'prompt':
      case 'resumed':
        cwd = record.cwd
        break
      case 'reply':
        for (const block of record.content) {
          const path = block.type === 'tool_use' ? lookedAt(block, cwd) : null
          if (block.type === 'tool_use' && path !== null) looks.set(block.id, path)
        }
        break
      case 'toolFinished': {
        const path = looks.get(record.id)
        if (path !== undefined && !record.is_error) seen.set(path, { kind: 'time', at: Date.parse(at) })
        break
      }
      default:
        break
    }
  }
  return seen
}

function lookedAt({ name, input }: ToolUseBlock, cwd: string): string | null {
  const { path } = input
  return LOOKS.has(name) && typeof path === 'string' && !path.includes('\0')
    ? realTarget(absolutePath(path, cwd))
    : null
}
