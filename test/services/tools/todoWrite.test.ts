import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Workspace, workspace } from './fileSupport.ts'

let w: Workspace
beforeEach(async () => {
  w = await workspace()
})
afterEach(() => w.remove())

test('the list is given back as it now is', async () => {
  const todos = [
    { content: 'read', status: 'completed' },
    { content: 'write', status: 'in_progress' },
    { content: 'test', status: 'pending' },
  ]
  expect(await w.call('todo_write', { todos })).toEqual({
    kind: 'ok',
    content: '1 of 3 completed.\n[x] read\n[>] write\n[ ] test',
  })
})

test('an empty list is a list', async () => {
  expect(await w.call('todo_write', { todos: [] })).toEqual({ kind: 'ok', content: 'The todo list is empty.' })
})

test('a wrong item is named by its place', async () => {
  const todos = [
    { content: 'a', status: 'pending' },
    { content: '', status: 'done' },
    { status: 'pending', id: 1 },
  ]
  expect(await w.call('todo_write', { todos })).toEqual({
    kind: 'error',
    content: [
      'todo_write was not run because its input is not right:',
      '- todos[1].content must not be empty.',
      '- todos[1].status must be one of "pending", "in_progress", "completed", not "done".',
      '- todos[2].content is missing; it must be a string.',
      '- "id": todo_write has no such field in todos[2].',
      'The fields of todo_write: todos (array).',
    ].join('\n'),
  })
})

test('it touches nothing', async () => {
  await w.call('todo_write', { todos: [] })
  expect(await w.names()).toEqual([])
})
