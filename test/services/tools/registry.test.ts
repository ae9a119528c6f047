import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod/mini'
import type { ToolUseBlock } from '../../../src/machines/messages.ts'
import { createTools, SUBAGENT_TOOLS } from '../../../src/services/tools/registry.ts'
import { defineTool } from '../../../src/services/tools/tool.ts'
import { type Workspace, workspace } from './fileSupport.ts'

let w: Workspace
beforeEach(async () => {
  w = await workspace()
})
afterEach(() => w.remove())

const namesOf = (tools: ReturnType<typeof createTools>) => tools.specs().map(({ name }) => name)
const call = (name: string, input: unknown): ToolUseBlock => ({
  type: 'tool_use',
  id: 'toolu_1',
  name,
  input: input as Record<string, unknown>,
})

const echo = defineTool({
  name: 'echo',
  description: 'Gives back its input.',
  input: z.strictObject({
    text: z.string(),
    times: z.optional(z.int().check(z.gte(1), z.lte(9))),
    loud: z.optional(z.boolean()),
  }),
  effect: () => ({ kind: 'none' }),
  run: async (input) => ({ kind: 'ok', content: JSON.stringify(input) }),
})

const failing = defineTool({
  name: 'failing',
  description: 'Throws.',
  input: z.strictObject({}),
  effect: () => ({ kind: 'none' }),
  run: () => {
    throw new Error('boom')
  },
})

describe('the tools that are sent', () => {
  test('come in one order, whatever is asked for', () => {
    const all = ['bash', 'read_file', 'write_file', 'edit_file', 'glob', 'grep', 'todo_write']
    expect(namesOf(createTools())).toEqual(all)
    expect(namesOf(createTools({ builtIn: ['grep', 'bash'] }))).toEqual(['bash', 'grep'])
    expect(namesOf(createTools({ builtIn: SUBAGENT_TOOLS }))).toEqual(all.slice(0, 6))
    expect(namesOf(createTools({ more: [failing, echo] }))).toEqual([...all, 'failing', 'echo'])
  })

  test('are the same bytes each time', () => {
    expect(JSON.stringify(createTools().specs())).toBe(JSON.stringify(createTools().specs()))
  })

  test('have a closed object schema of their own with a word on each field', () => {
    const specs = createTools().specs()
    expect(specs.find(({ name }) => name === 'read_file')?.input_schema).toEqual({
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, description: expect.any(String) },
        offset: { type: 'integer', minimum: 0, description: expect.any(String) },
        limit: { type: 'integer', minimum: 1, description: expect.any(String) },
      },
      required: ['path'],
      additionalProperties: false,
    })
    for (const { name, description, input_schema } of specs) {
      expect(name).toMatch(/^[a-zA-Z0-9_-]{1,128}$/)
      expect(description).toMatch(/\.$/)
      expect(input_schema).toMatchObject({ type: 'object', additionalProperties: false })
      expect(input_schema).not.toHaveProperty('$schema')
      const fields = Object.values(input_schema.properties as Record<string, { description?: string }>)
      expect(fields.filter((field) => field.description === undefined)).toEqual([])
    }
  })

  test('cost at most 5,500 bytes of each request', () => {
    expect(Buffer.byteLength(JSON.stringify(createTools().specs()))).toBeLessThanOrEqual(5500)
  })

  test('two of one name, or one that is not there, are a bug', () => {
    expect(() => createTools({ more: [echo, echo] })).toThrow('There are two tools echo.')
    expect(() => createTools({ builtIn: ['constructor'] })).toThrow('There is no built-in tool constructor.')
  })
})

describe('a call', () => {
  const tools = createTools({ builtIn: ['read_file', 'write_file'], more: [echo, failing] })
  const invalid = async (name: string, input: unknown) => {
    const checked = await tools.check(call(name, input), w.dir)
    expect(checked.kind).toBe('invalid')
    return checked.kind === 'invalid' ? checked.content : ''
  }
  const ran = async (name: string, input: unknown) => {
    const checked = await tools.check(call(name, input), w.dir)
    return checked.kind === 'invalid' ? checked.content : checked.run(w.env)
  }

  test.each(['nope', 'constructor', '__proto__', 'toString', '', 'Bash'])(
    'of the unknown tool %j lists those there are',
    async (name) => {
      expect(await invalid(name, {})).toBe(
        `There is no tool ${JSON.stringify(name)}. The tools are: read_file, write_file, echo, failing.`,
      )
    },
  )

  test('of an unknown tool does not speak of one that is not offered now', async () => {
    const withHidden = createTools({ builtIn: ['bash'], more: [{ ...echo, isOffered: () => false }] })
    expect(await withHidden.check(call('nope', {}), w.dir)).toEqual({
      kind: 'invalid',
      content: 'There is no tool "nope". The tools are: bash.',
    })
  })

  test('tells what it would touch, with absolute paths, before it runs', async () => {
    const checked = await tools.check(call('write_file', { path: 'a/../b', content: '' }), '/tmp/x')
    expect(checked).toMatchObject({
      kind: 'ready',
      effect: { kind: 'write', paths: ['/tmp/x/b'] },
      plan: { key: expect.stringMatching(/\/tmp\/x\/b$/) },
    })
    expect(await tools.check(call('read_file', { path: '/etc/hosts' }), '/tmp/x')).toMatchObject({
      effect: { kind: 'read', paths: ['/etc/hosts'] },
    })
  })

  test.each([
    [null, 'the input must be an object, not null.'],
    [[], 'the input must be an object, not an array.'],
    ['{"text":"x"}', 'the input must be an object, not "{\\"text\\":\\"x\\"}".'],
    [undefined, 'the input is missing; it must be an object.'],
    [{}, 'text is missing; it must be a string.'],
    [{ text: 5 }, 'text must be a string, not 5.'],
    [{ text: null }, 'text must be a string, not null.'],
    [{ text: ['a'] }, 'text must be a string, not an array.'],
    [{ text: 'a', times: 'm'.repeat(300) }, 'times must be a number, not a string of 300 characters.'],
    [{ text: 'a', times: 1.5 }, 'times must be a whole number, not 1.5.'],
    [{ text: 'a', times: 'many' }, 'times must be a number, not "many".'],
    [{ text: 'a', times: 0 }, 'times must be at least 1, not 0.'],
    [{ text: 'a', times: 10 }, 'times must be at most 9, not 10.'],
    [{ text: 'a', loud: 'yes' }, 'loud must be a boolean, not "yes".'],
    [{ text: 'a', more: 1 }, '"more": echo has no such field.'],
    [JSON.parse('{"text":"a","__proto__":{"times":1}}'), '"__proto__": echo has no such field.'],
    [{ text: 'a', constructor: 1 }, '"constructor": echo has no such field.'],
  ])('with the input %j is not run and names what is wrong', async (input, problem) => {
    expect(await invalid('echo', input)).toBe(
      `echo was not run because its input is not right:\n- ${problem}\nThe fields of echo: text (string), times (integer, optional), loud (boolean, optional).`,
    )
  })

  test('with several wrong fields names each', async () => {
    const content = await invalid('write_file', { file_path: 'a', content: 5 })
    expect(content.split('\n')).toEqual([
      'write_file was not run because its input is not right:',
      '- path is missing; it must be a string.',
      '- content must be a string, not 5.',
      '- "file_path": write_file has no such field.',
      'The fields of write_file: path (string), content (string).',
    ])
  })

  test('of a tool without fields says so', async () => {
    expect(await invalid('failing', { x: 1 })).toMatch(/\nfailing takes no fields: send \{\}\.$/)
  })

  test('may send a number or boolean as its text and null for an optional field', async () => {
    expect(await ran('echo', { text: '5', times: '3', loud: 'true' })).toEqual({
      kind: 'ok',
      content: '{"text":"5","times":3,"loud":true}',
    })
    expect(await ran('echo', { text: 'null', times: null, loud: null })).toEqual({
      kind: 'ok',
      content: '{"text":"null"}',
    })
  })

  test('whose handler throws is an error result', async () => {
    expect(await ran('failing', {})).toEqual({
      kind: 'error',
      content: 'failing failed unexpectedly: boom. It may have done a part of its work.',
    })
  })

  test('that is interrupted says so', async () => {
    const checked = await tools.check(call('failing', {}), w.dir)
    if (checked.kind === 'invalid') throw new Error(checked.content)
    expect(await checked.run({ ...w.env, signal: AbortSignal.abort() })).toEqual({
      kind: 'error',
      content: 'failing was interrupted before it ended.',
    })
  })
})
