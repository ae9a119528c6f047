/** What holds for every request, the one of this moment and those that any next run would send. */
import { isDeepStrictEqual } from 'node:util'
import { type Conversation, isUnfinished } from '../../src/machines/conversation.ts'
import { step } from '../../src/machines/fold.ts'
import type { JournalRecord } from '../../src/machines/journal.ts'
import type { Message, UserBlock } from '../../src/machines/messages.ts'
import { requestMessages, summaryMessages, withCacheMarks } from '../../src/machines/request.ts'
import { summaryRequest } from '../../src/machines/summary.ts'
import { validateRequest } from '../support/validateRequest.ts'
import type { World } from './world.ts'

/** Each request begins with the one before it, and holds the user's words. */
export function requestsFit(before: World, after: World): string | null {
  if (after.state !== 'calling' || before.state === 'calling') return null
  const request = requestMessages(after.context.conversation)
  if (before.sent !== null && !beginsWith(request, before.sent)) {
    return 'the request does not begin with the one before it'
  }
  const said = request.flatMap(({ role, content }) => (role === 'user' ? (content as UserBlock[]) : []))
  const missing = after.context.conversation.request.find((block) => !said.some((one) => isDeepStrictEqual(one, block)))
  return missing === undefined ? null : `the request lacks the user's words ${JSON.stringify(missing)}`
}

/** The last message may have grown: a reply that was paused goes on in the same message. */
function beginsWith(request: Message[], prefix: Message[]): boolean {
  const last = prefix.length - 1
  return prefix.every(({ role, content }, i) => {
    const now = request[i]
    if (now?.role !== role) return false
    return isDeepStrictEqual(i < last ? now.content : now.content.slice(0, content.length), content)
  })
}

const ASK = summaryRequest(null)
const LIMITS = { max_turns: 9, input_tokens: 9 }
const TOOLS = [{ name: 'bash', description: 'runs', input_schema: { type: 'object' } }]

/** The request of this moment and those that any next run would send are valid. */
export function everyRequestValid(c: Conversation, state: World['state']): string | null {
  if (state === 'calling') {
    const refused = refusalOf(requestMessages(c), c)
    if (refused !== null) return `the request would be refused: ${refused}`
  }
  if (state === 'compacting') {
    const refused = refusalOf(summaryMessages(c, ASK), c)
    if (refused !== null) return `the request for a summary would be refused: ${refused}`
  }
  return null
}

/** Killed now, the session goes on with a new prompt or without, and compacts first where that is due. */
export function resumable(before: World, after: World): string | null {
  if (after.recorded === before.recorded) return null
  const block = { type: 'text', text: 'and then?' } as const
  const prompt: JournalRecord = { type: 'prompt', text: block.text, blocks: [block], cwd: '/d', limits: LIMITS }
  const prompted = step(after.folded, prompt)
  const resumed = step(after.folded, { type: 'resumed', cwd: '/d', limits: LIMITS })
  const goesOn = isUnfinished(after.folded) && resumed.turn.status === 'open'
  for (const c of goesOn ? [prompted, resumed] : [prompted]) {
    const refused = refusalOf(requestMessages(c), c) ?? refusalOf(summaryMessages(c, ASK), c)
    if (refused !== null) return `after a restart the request would be refused: ${refused}`
  }
  return null
}

/** Sessions share their beginnings, so most requests were judged before. */
const judged = new Map<string, string | null>()
const MOST_JUDGED = 5_000

function refusalOf(messages: Message[], c: Conversation): string | null {
  const body = { model: 'm', max_tokens: 99, system: 's', tools: TOOLS, messages: withCacheMarks(messages) }
  const mayEndWithAssistant = c.turn.stop_reason === 'pause_turn'
  const raw = JSON.stringify(body)
  const key = `${mayEndWithAssistant} ${raw}`
  const known = judged.get(key)
  if (known !== undefined) return known
  if (judged.size >= MOST_JUDGED) judged.clear()
  const refusal = validateRequest(raw, { mayEndWithAssistant })
  judged.set(key, refusal)
  return refusal
}
