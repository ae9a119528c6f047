/** Random conversations made the way real ones are, record by record, with a disk that keeps what layers put away. */
import fc from 'fast-check'
import { type Conversation, EMPTY } from '../../src/machines/conversation.ts'
import { planEmergency } from '../../src/machines/emergency.ts'
import { fold, step } from '../../src/machines/fold.ts'
import type { JournalRecord, SavedResult, TrimStep } from '../../src/machines/journal.ts'
import { POLICY, type Policy } from '../../src/machines/layers/policy.ts'
import type { Wanted } from '../../src/machines/layers/results.ts'
import { applyStep, LAYERS, wishOf } from '../../src/machines/layers/trim.ts'
import { type AssistantBlock, type Message, NO_USAGE, type ToolResultBlock } from '../../src/machines/messages.ts'

/** The constants made small, so that short conversations meet them. */
export const SMALL: Policy = {
  ...POLICY,
  largeResult: 3_000,
  messages: { most: 10, head: 3, tail: 7 },
  old: { rounds: 2, result: 120 },
}

/** What a random session does next; numbers are lengths of results in characters, negative ones of errors. */
export type Act =
  | { act: 'prompt'; image: boolean }
  | { act: 'round'; text: boolean; thinking: boolean; results: number[]; image: boolean; tool: string }
  | { act: 'answer' }
  | { act: 'layer'; layer: TrimStep['layer']; diskFull: boolean }
  | { act: 'compaction'; emergency: boolean; tail?: number }

const size = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 400 }) },
  { weight: 1, arbitrary: fc.integer({ min: 2_500, max: 9_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: -400, max: -1 }) },
)

const round = fc.record({
  act: fc.constant('round' as const),
  text: fc.boolean(),
  thinking: fc.boolean(),
  results: fc.array(size, { minLength: 1, maxLength: 4 }),
  image: fc.boolean(),
  tool: fc.constantFrom('bash', 'bash', 'bash', 'load_skill', 'todo_write'),
})

const compaction = fc.record({
  act: fc.constant('compaction' as const),
  emergency: fc.boolean(),
  tail: fc.double({ min: 0, max: 1, noNaN: true }),
})

export const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.oneof(
    { weight: 2, arbitrary: fc.record({ act: fc.constant('prompt' as const), image: fc.boolean() }) },
    { weight: 8, arbitrary: round },
    { weight: 2, arbitrary: fc.constant({ act: 'answer' as const }) },
    {
      weight: 5,
      arbitrary: fc.record({
        act: fc.constant('layer' as const),
        layer: fc.constantFrom(...LAYERS),
        diskFull: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
      }),
    },
    { weight: 1, arbitrary: compaction },
  ),
  { minLength: 5, maxLength: 40 },
)

export interface Lived {
  records: JournalRecord[]
  conversation: Conversation
  /** Path → what was written there: a result's text, or messages. */
  disk: Map<string, string>
  /** Every result since the last compaction by its id, as the tool gave it. */
  results: Map<string, ToolResultBlock['content']>
  /** The words of the last prompt. */
  asked: string
}

const PIXEL = {
  type: 'image' as const,
  source: { type: 'base64' as const, media_type: 'image/png', data: 'A'.repeat(400) },
}
const LIMITS = { max_turns: 99, input_tokens: 50_000 }

export function born(): Lived {
  const records: JournalRecord[] = [{ type: 'opened', session_id: 's', cwd: '/d', model: 'm' }]
  return { records, conversation: fold(records), disk: new Map(), results: new Map(), asked: '' }
}

/** @returns the session after one more act; acts that do not fit here change nothing */
export function live(lived: Lived, act: Act, n: number): Lived {
  const c = lived.conversation
  switch (act.act) {
    case 'prompt': {
      if (c.turn.status === 'open' && c.round.length > 0) return lived
      const text = { type: 'text' as const, text: `REQUEST-${n} do something` }
      const blocks = act.image ? [text, PIXEL] : [text]
      return recorded({ ...lived, asked: text.text }, [
        { type: 'prompt', text: text.text, blocks, cwd: '/d', limits: LIMITS },
      ])
    }
    case 'round':
      return c.turn.status === 'open' && c.prompts > 0 ? rounded(lived, act, n) : lived
    case 'answer':
      return c.turn.status === 'open' && c.prompts > 0 ? replied(lived, [{ type: 'text', text: `ANSWER-${n}` }]) : lived
    case 'layer':
      return c.turn.status === 'open' ? layered(lived, act.layer, act.diskFull) : lived
    case 'compaction':
      return c.turn.status === 'open' && c.messages.length > 1 ? compacted(lived, act, n) : lived
  }
}

function recorded(lived: Lived, records: JournalRecord[]): Lived {
  return { ...lived, records: [...lived.records, ...records], conversation: records.reduce(step, lived.conversation) }
}

function replied(lived: Lived, content: AssistantBlock[]): Lived {
  const usage = { ...NO_USAGE, input_tokens: 1 + lived.conversation.messages.length }
  return recorded(lived, [
    { type: 'reply', id: 'm', model: 'm', content, stop_reason: 'end_turn', usage, measured: true, ms: 1 },
  ])
}

function rounded(lived: Lived, act: Extract<Act, { act: 'round' }>, n: number): Lived {
  const ids = act.results.map((_, i) => `call-${n}-${i}`)
  const calls = ids.map((id): AssistantBlock => ({ type: 'tool_use', id, name: act.tool, input: { name: id } }))
  const before: AssistantBlock[] = [
    ...(act.thinking ? [{ type: 'thinking' as const, thinking: 'hm', signature: 'c2ln' }] : []),
    ...(act.text ? [{ type: 'text' as const, text: `remark ${n}` }] : []),
  ]
  const asked = replied(lived, [...before, ...calls])
  const results = new Map(asked.results)
  const finished = act.results.map((length, i): JournalRecord => {
    const id = ids[i] ?? ''
    const text = `${id}:${'😀y'.repeat(Math.abs(length) / 3)}`
    const content = act.image && i === 0 ? [{ type: 'text' as const, text }, PIXEL] : text
    results.set(id, content)
    return { type: 'toolFinished', id, content, is_error: length < 0, ms: 1 }
  })
  return { ...recorded(asked, finished), results }
}

/** Long, so that the words that name it are longer than a result that may stay. */
export function pathOf(id: string): string {
  return `files/${'long-'.repeat(30)}${id}.txt`
}

function save(disk: Map<string, string>, { id, content, paths }: Wanted): SavedResult {
  if (paths !== null) return { id, paths }
  const path = pathOf(id)
  disk.set(path, JSON.stringify(content))
  return { id, paths: [path] }
}

/** One layer as the `trim` service runs it. */
export function layered(lived: Lived, layer: TrimStep['layer'], diskFull = false, policy: Policy = SMALL): Lived {
  const wish = wishOf(layer, lived.conversation, policy)
  if (wish === null || diskFull) return recorded(lived, [{ type: 'trimmed', done: [] }])
  const disk = new Map(lived.disk)
  if (wish.layer !== 'middle') {
    const results = wish.results.map((wanted) => save(disk, wanted))
    return { ...recorded(lived, [{ type: 'trimmed', done: [{ layer: wish.layer, results }] }]), disk }
  }
  const path = 'files/snipped.jsonl'
  disk.set(path, (disk.get(path) ?? '') + linesOf(lived.conversation.messages.slice(wish.cut.from, wish.cut.to)))
  return { ...recorded(lived, [{ type: 'trimmed', done: [{ layer: 'middle', ...wish.cut, path }] }]), disk }
}

function linesOf(messages: Message[]): string {
  return messages.map((message) => `${JSON.stringify(message)}\n`).join('')
}

type Compaction = Extract<Act, { act: 'compaction' }>

/** An emergency keeps what its plan says or, more of them than a plan would, a tail of any length. */
function compacted(lived: Lived, { emergency, tail = 0 }: Compaction, n: number): Lived {
  const disk = new Map(lived.disk)
  const { messages } = lived.conversation
  const plan = planEmergency(lived.conversation)
  const from = messages.findIndex(({ role }, at) => role === 'assistant' && at >= messages.length * (1 - tail))
  const kept = !emergency ? 0 : from < 0 ? plan.kept : messages.length - from
  const shorten = emergency ? plan.shorten : []
  const shortened = shorten.map((wanted) => save(disk, wanted))
  const after = recorded(lived, [
    {
      type: 'compacted',
      trigger: emergency ? 'emergency' : 'budget',
      summary: `SUMMARY-${n}`,
      kept,
      shortened,
      transcript: `files/transcript-${n}.jsonl`,
      before_tokens: 1,
      usage: NO_USAGE,
      ms: 1,
    },
  ])
  const left = new Set(resultIds(after.conversation))
  return { ...after, disk, results: new Map([...lived.results].filter(([id]) => left.has(id))) }
}

function resultIds(c: Conversation): string[] {
  const settled = c.messages.flatMap(({ content }) =>
    content.flatMap((b) => (b.type === 'tool_result' ? [b.tool_use_id] : [])),
  )
  return [...settled, ...c.round.map((one) => one.call.id)]
}

/** @returns a conversation of so many messages, a call a round, each result of `length` characters */
export function longConversation(messages: number, length = 500): Conversation {
  const prompt: JournalRecord = {
    type: 'prompt',
    text: 'THE TASK',
    blocks: [{ type: 'text', text: 'THE TASK' }],
    cwd: '/d',
    limits: LIMITS,
  }
  const c = fold([{ type: 'opened', session_id: 's', cwd: '/d', model: 'm' }, prompt], EMPTY)
  const made: Message[] = [{ role: 'user', content: [{ type: 'text', text: 'THE TASK' }] }]
  for (let n = 0; made.length < messages - 1; n++) {
    made.push({ role: 'assistant', content: [{ type: 'tool_use', id: `c${n}`, name: 'bash', input: {} }] })
    made.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: `c${n}`, content: 'x'.repeat(length) }] })
  }
  made.push({ role: 'assistant', content: [{ type: 'text', text: 'so far' }] })
  return { ...c, messages: made, pending: [] }
}

export { applyStep }
