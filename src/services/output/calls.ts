/** The tool calls of a run as a person sees them: those of a subagent stand under the task they work for. */
import type { Colors } from 'picocolors/types.js'
import type { ToolUseBlock } from '../../machines/messages.ts'
import type { Progress } from '../ports.ts'
import { clip, describeCall, displayWidth, duration, printableLine } from '../text.ts'

type Started = Extract<Progress, { type: 'toolStarted' }>
type Finished = Extract<Progress, { type: 'toolFinished' }>

export interface Calls {
  /** @returns a line to show at once, null where the call's end is enough. */
  start(event: Started): string | null
  /** @returns the line of a call that has ended. */
  finish(event: Finished): string
  /** @returns what runs now in words and since when; null where nothing runs. */
  running(): { words: string; since: number } | null
  /** Forgets what runs: it was interrupted. @returns a line for each */
  interrupt(): string[]
  /** @returns the line of a call of which nothing ran, with why in a word or two */
  unrun(call: ToolUseBlock, why: string): string
}

interface Running {
  call: ToolUseBlock
  since: number
  parent: string | undefined
}

/**
 * @param columns the terminal's width now, in columns
 * @param now milliseconds since some fixed time
 */
export function createCalls(colors: Colors, columns: () => number, now: () => number): Calls {
  const running = new Map<string, Running>()
  /** Tasks run side by side: a number tells whose calls these are. */
  const numbers = new Map<string, number>()

  const labelOf = ({ name, id }: ToolUseBlock, parent: string | undefined): string => {
    const shown = clip(printableLine(name), 40)
    const own = numbers.get(parent ?? id)
    if (own === undefined) return shown
    return parent === undefined ? `${shown} #${own}` : `#${own} ${shown}`
  }
  const line = (mark: string, { call, parent_tool_use_id: parent }: Started | Finished, end: string): string => {
    const indent = parent === undefined ? '' : '  '
    const label = labelOf(call, parent)
    const room = Math.max(0, columns() - 1 - indent.length - displayWidth(label) - displayWidth(end) - 3)
    const args = describeCall(call, room)
    return `${indent}${mark} ${colors.bold(label)}${args === '' ? '' : ` ${args}`}${colors.dim(end)}`
  }
  return {
    interrupt() {
      const all = [...running.values()]
      running.clear()
      return all.map(({ call, parent }) =>
        line(
          colors.red('✗'),
          { type: 'toolStarted', call, ...(parent !== undefined && { parent_tool_use_id: parent }) },
          ' interrupted',
        ),
      )
    },
    unrun: (call, why) => line(colors.red('✗'), { type: 'toolStarted', call }, ` ${why}`),
    start(event) {
      const { call, parent_tool_use_id: parent } = event
      running.set(keyOf(event), { call, since: now(), parent })
      if (call.name !== 'task' || parent !== undefined) return null
      numbers.set(call.id, numbers.size + 1)
      return line(colors.dim('>'), event, '')
    },
    finish(event) {
      running.delete(keyOf(event))
      const mark = event.is_error ? colors.red('✗') : colors.green('✓')
      const how = event.denied === true ? ' refused' : event.is_error ? ' failed' : ''
      return line(mark, event, `${how} ${duration(event.ms)}`)
    },
    running() {
      const all = [...running.values()]
      const parents = new Set(all.map(({ parent }) => parent))
      // A task whose subagent runs something is shown by that.
      const shown = all.filter(({ call, parent }) => parent !== undefined || !parents.has(call.id))
      const [only, ...others] = shown
      if (only === undefined) return null
      const since = Math.min(...shown.map((one) => one.since))
      const names = shown.map(({ call, parent }) => labelOf(call, parent))
      if (others.length > 0) return { words: `running ${shown.length} calls: ${names.join(', ')}`, since }
      return { words: `running ${names[0]} ${describeCall(only.call)}`, since }
    },
  }
}

/** The ids of two conversations may be the same. */
function keyOf({ call, parent_tool_use_id: parent = '' }: Started | Finished): string {
  return `${parent} ${call.id}`
}
