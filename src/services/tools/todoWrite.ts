/** `todo_write`: the model's list of what it has to do. */
import * as z from 'zod/mini'
import { defineTool } from './tool.ts'

const input = z.strictObject({
  todos: z
    .array(
      z.strictObject({
        content: z.string().check(z.minLength(1)),
        status: z.enum(['pending', 'in_progress', 'completed']),
      }),
    )
    .check(z.describe('The whole list, in order; it replaces the last one')),
})

type Input = z.infer<typeof input>

const MARKS: Record<Input['todos'][number]['status'], string> = {
  pending: '[ ]',
  in_progress: '[>]',
  completed: '[x]',
}

/** The list is kept nowhere else: the current one is the input of the last such call in the journal. */
export const todoWriteTool = defineTool<Input>({
  name: 'todo_write',
  description:
    'Keep a todo list for work of several steps. Send the whole list each time; have one item in_progress, and mark ' +
    'items completed as soon as they are.',
  input,
  effect: () => ({ kind: 'none' }),
  run: async ({ todos }) => ({ kind: 'ok', content: renderTodos(todos) }),
})

/** @returns the list as the model and the user see it, a line an item */
function renderTodos(todos: Input['todos']): string {
  if (todos.length === 0) return 'The todo list is empty.'
  const done = todos.filter(({ status }) => status === 'completed').length
  const lines = todos.map(({ content, status }) => `${MARKS[status]} ${content}`)
  return [`${done} of ${todos.length} completed.`, ...lines].join('\n')
}
