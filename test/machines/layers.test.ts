import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Conversation } from '../../src/machines/conversation.ts'
import { fold } from '../../src/machines/fold.ts'
import { POLICY } from '../../src/machines/layers/policy.ts'
import { applyStep, LAYERS, trim, wishOf } from '../../src/machines/layers/trim.ts'
import type { AssistantBlock, Message, ToolResultBlock, UserBlock } from '../../src/machines/messages.ts'
import { requestMessages, summaryMessages, withCacheMarks } from '../../src/machines/request.ts'
import { summaryRequest } from '../../src/machines/summary.ts'
import { validateRequest } from '../support/validateRequest.ts'
import { type Act, acts, born, type Lived, layered, live, longConversation, pathOf, SMALL } from './conversations.ts'

type Block = UserBlock | AssistantBlock

const TOOLS = [{ name: 'bash', description: 'runs', input_schema: { type: 'object' } }]

function refusal(messages: Message[]): string | null {
  const body = { model: 'm', max_tokens: 99, system: 's', tools: TOOLS, messages: withCacheMarks(messages) }
  return validateRequest(JSON.stringify(body), { mayHaveEmptyThinking: true })
}

/** Whether a whole result can be read somewhere: in sight, in the file its words name, or among the messages left out. */
function isKept(lived: Lived, id: string, content: ToolResultBlock['content']): boolean {
  const seen = requestMessages(lived.conversation).flatMap(({ content: blocks }): Block[] => blocks)
  const gone = (lived.disk.get('files/snipped.jsonl') ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line): Block[] => (JSON.parse(line) as Message).content)
  return [...seen, ...gone].some((block) => {
    if (block.type !== 'tool_result' || block.tool_use_id !== id) return false
    if (JSON.stringify(block.content) === JSON.stringify(content)) return true
    const path = pathOf(id)
    return JSON.stringify(block.content).includes(path) && lived.disk.get(path) === JSON.stringify(content)
  })
}

function textOf(content: ToolResultBlock['content']): string {
  return typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

function breaches(lived: Lived): string[] {
  const { conversation: c } = lived
  const isOpen = c.turn.status === 'open' && c.prompts > 0
  const found: string[] = []
  if (isOpen) {
    const refused = refusal(requestMessages(c))
    if (refused !== null) found.push(refused)
    const notAsked = c.messages.length > 0 ? refusal(summaryMessages(c, summaryRequest(null))) : null
    if (notAsked !== null) found.push(`summary: ${notAsked}`)
    const texts = requestMessages(c).flatMap(({ content }): Block[] => content)
    const times = texts.filter((block) => block.type === 'text' && block.text === lived.asked).length
    if (times !== 1) found.push(`the request is there ${times} times`)
  }
  for (const [id, content] of lived.results) {
    const isImageGone = typeof content !== 'string' && c.compactions > 0
    if (!isKept(lived, id, content) && !isImageGone) found.push(`${id} is lost: ${textOf(content).slice(0, 20)}`)
  }
  return found
}

function lifeOf(script: Act[]): { lived: Lived; found: string[] } {
  let lived = live(born(), { act: 'prompt', image: false }, 0)
  const found: string[] = []
  for (const [i, act] of script.entries()) {
    lived = live(lived, act, i + 1)
    found.push(...breaches(lived).map((breach) => `after ${i} ${act.act}: ${breach}`))
    if (act.act === 'layer' && !act.diskFull && lived.conversation.turn.status === 'open') {
      if (wishOf(act.layer, lived.conversation, SMALL) !== null) found.push(`after ${i}: ${act.layer} is not done`)
    }
  }
  return { lived, found }
}

describe('after any sequence of rounds, layers and compactions', () => {
  test('requests are valid, the request is in them once, every result seen can be read, and a layer done stays done', () => {
    fc.assert(
      fc.property(acts, (script) => {
        expect(lifeOf(script).found).toEqual([])
      }),
      { numRuns: 400 },
    )
  })

  test('the fold of the journal is the conversation', () => {
    fc.assert(
      fc.property(acts, (script) => {
        const { lived } = lifeOf(script)
        expect(fold(JSON.parse(JSON.stringify(lived.records)))).toEqual(JSON.parse(JSON.stringify(lived.conversation)))
      }),
      { numRuns: 100 },
    )
  })

  test('no image data is left after a compaction but that of words to be answered and of results that came later', () => {
    const image: Act = { act: 'round', text: false, thinking: false, results: [10], image: true, tool: 'bash' }
    for (const emergency of [false, true]) {
      const { lived } = lifeOf([image, image, { act: 'compaction', emergency }])
      expect(JSON.stringify(requestMessages(lived.conversation))).not.toContain('A'.repeat(400))
    }
  })

  test('an emergency whose latest rounds hold the request does not repeat it', () => {
    const round: Act = { act: 'round', text: false, thinking: false, results: [10], image: false, tool: 'bash' }
    const { lived, found } = lifeOf([
      round,
      { act: 'answer' },
      { act: 'prompt', image: false },
      round,
      round,
      { act: 'compaction', emergency: true, tail: 0.9 },
    ])
    expect(found).toEqual([])
    expect(lived.conversation.messages).toHaveLength(8)
  })

  test('layers never change what they are given', () => {
    const c = frozen(longConversation(120))
    for (const layer of LAYERS) expect(() => wishOf(layer, c, POLICY)).not.toThrow()
    expect(() => trim(c, POLICY)).not.toThrow()
  })
})

function frozen<T>(value: T): T {
  if (value !== null && typeof value === 'object' && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) frozen(inner)
  }
  return value
}

describe('the layers one by one, with the notes’ constants', () => {
  const idsIn = (c: Conversation) =>
    c.messages.flatMap(({ content }) => content.flatMap((b) => (b.type === 'tool_use' ? [b.id] : [])))

  test('the middle: 50 messages stay as they are, of 52 the head and the tail stay, at a border of rounds', () => {
    expect(wishOf('middle', longConversation(50), POLICY)).toBeNull()
    expect(wishOf('middle', longConversation(52), POLICY)).toEqual({ layer: 'middle', cut: { from: 3, to: 5 } })
    const c = applyStep(longConversation(120), { layer: 'middle', from: 3, to: 73, path: 'p' })
    expect(c.messages).toHaveLength(50)
    expect(idsIn(c).slice(0, 3)).toEqual(['c0', 'c36', 'c37'])
  })

  test('the middle: a mark says once how much is gone and where it is', () => {
    let lived: Lived = { ...born(), conversation: longConversation(120) }
    lived = layered(lived, 'middle', false, POLICY)
    const grown = longConversation(120).messages.slice(1, 41)
    lived = layered(
      {
        ...lived,
        conversation: { ...lived.conversation, messages: [...lived.conversation.messages, ...renamed(grown)] },
      },
      'middle',
      false,
      POLICY,
    )
    const text = JSON.stringify(lived.conversation.messages)
    expect(text.match(/\d+ messages of this conversation were left out/g)).toEqual([
      '110 messages of this conversation were left out',
    ])
    expect(lived.disk.get('files/snipped.jsonl')?.trimEnd().split('\n')).toHaveLength(110)
  })

  test('the middle: a request in it is carried on, marked as what is being worked on', () => {
    const long = longConversation(60)
    const request = { type: 'text' as const, text: 'THE SECOND TASK' }
    const messages = long.messages.map(
      (message, at): Message =>
        at === 6 && message.role === 'user' ? { role: 'user', content: [...message.content, request] } : message,
    )
    const { conversation } = layered(
      { ...born(), conversation: { ...long, messages, request: [request] } },
      'middle',
      false,
      POLICY,
    )
    const head = conversation.messages[2]?.content.map((block) => (block.type === 'text' ? block.text : block.type))
    expect(head).toEqual([
      'tool_result',
      expect.stringContaining('messages of this conversation were left out'),
      expect.stringContaining('You are at work on it'),
      'THE SECOND TASK',
    ])
  })

  test('old results: the last three rounds and 120 characters stay', () => {
    const c = longConversation(22, 121)
    const wish = wishOf('old', c, POLICY)
    expect(wish?.layer === 'old' && wish.results.map(({ id }) => id)).toEqual([
      'c0',
      'c1',
      'c2',
      'c3',
      'c4',
      'c5',
      'c6',
    ])
    expect(wishOf('old', longConversation(22, 120), POLICY)).toBeNull()
  })

  test('old results: errors and skills stay, an image goes', () => {
    const round = (tool: string, length: number, image = false): Act => ({
      act: 'round',
      text: false,
      thinking: false,
      results: [length],
      image,
      tool,
    })
    const { lived } = lifeOf([
      round('bash', -300),
      round('load_skill', 300),
      round('bash', 10, true),
      round('bash', 300),
      ...[1, 2, 3].map(() => round('bash', 10)),
    ])
    const wish = wishOf('old', lived.conversation, POLICY)
    expect(wish?.layer === 'old' && wish.results.map(({ id }) => id)).toEqual(['call-3-0', 'call-4-0'])
  })

  test('large results: 30,000 characters stay, one more goes, its beginning in sight up to a whole character', () => {
    expect(wishOf('large', longConversation(4, 30_000), POLICY)).toBeNull()
    const c = longConversation(4, 30_001)
    expect(wishOf('large', c, POLICY)).toMatchObject({ results: [{ id: 'c0' }] })
    const emoji = `a${'😀'.repeat(15_001)}`
    const messages = c.messages.map(
      (message, at): Message =>
        at === 2 ? { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c0', content: emoji }] } : message,
    )
    const { conversation } = trim({ ...c, messages }, POLICY)
    const [block] = conversation.messages[2]?.content ?? []
    const shown = block?.type === 'tool_result' ? String(block.content) : ''
    expect(shown).toContain('30003 characters; only its first 1999 characters are shown')
    expect(shown.endsWith(`a${'😀'.repeat(999)}`)).toBe(true)
  })

  test('a skill that was loaded and the todo list are carried over the middle that goes', () => {
    const round = (tool: string): Act => ({
      act: 'round',
      text: false,
      thinking: false,
      results: [30],
      image: false,
      tool,
    })
    const script = [
      round('bash'),
      round('load_skill'),
      round('todo_write'),
      ...Array.from({ length: 30 }, () => round('bash')),
    ]
    const { lived } = lifeOf(script)
    const { conversation } = layered(lived, 'middle', false, POLICY)
    const text = JSON.stringify(conversation.messages)
    expect(text).toContain('<loaded_skill name=')
    expect(text).toContain('<todo_list>')
    expect(idsIn(conversation)).not.toContain('call-2-0')
  })
})

function renamed(messages: Message[]): Message[] {
  return JSON.parse(JSON.stringify(messages).replace(/"c(\d+)"/g, '"d$1"')) as Message[]
}
