/** The tool `task`: hands a piece of work to a subagent. */
import * as z from 'zod/mini'
import { isBlank } from '../../machines/messages.ts'
import type { RunTask } from '../ports.ts'
import { defineTool, type Tool } from './tool.ts'

const input = z.strictObject({
  description: z
    .string()
    .check(z.minLength(1), z.describe('The whole task: what to do, what is known, which files matter, what to report')),
})

/** @returns the tool over what runs a subagent; each of the subagent's own calls is decided on as any other. */
export function taskTool(runTask: RunTask): Tool<z.infer<typeof input>> {
  return defineTool({
    name: 'task',
    description:
      'Hand one piece of work to a subagent with a fresh context; it has the tools for files and commands. You get only ' +
      'its final summary: use it for searches and side work whose details you do not need. Several tasks in one reply ' +
      'run side by side.',
    input,
    effect: () => ({ kind: 'none' }),
    async run({ description }, { id, signal }) {
      if (isBlank(description)) {
        return { kind: 'error', content: 'description is blank: say what the subagent is to do and to report.' }
      }
      if (id === undefined) throw new Error('a task needs the id of its call')
      return runTask({ description, id, signal })
    },
  })
}
