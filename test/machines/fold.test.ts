import { describe, expect, it } from 'vitest'
import { type Conversation, EMPTY, isUnfinished } from '../../src/machines/conversation.ts'
import { fold, step } from '../../src/machines/fold.ts'
import type { CompactedRecord, JournalRecord, ReplyRecord, ToolFinishedRecord } from '../../src/machines/journal.ts'
import { type AssistantBlock, type Message, NO_USAGE, type UserBlock } from '../../src/machines/messages.ts'
import { forModel } from '../../src/machines/otherModel.ts'
import { requestMessages, summaryMessages, withCacheMarks } from '../../src/machines/request.ts'
import { summaryMessage } from '../../src/machines/summary.ts'
import { withUniqueIds } from '../../src/machines/uniqueIds.ts'
import { validateRequest } from '../support/validateRequest.ts'

const LIMITS = { max_turns: 5, input_tokens: 1000 }
const opened: JournalRecord = { type: 'opened', session_id: 's', cwd: '/d', model: 'm' }
const text = (words: string) => ({ type: 'text' as const, text: words })
const call = (id: string, name = 'bash') => ({ type: 'tool_use' as const, id, name, input: { command: 'ls' } })
const result = (id: string, content: string, is_error?: true) => ({
  type: 'tool_result' as const,
  tool_use_id: id,
  content,
  ...(is_error && { is_error }),
})
const user = (...content: UserBlock[]): Message => ({ role: 'user', content })
const assistant = (...content: AssistantBlock[]): Message => ({ role: 'assistant', content })

function prompt(words: string, ...more: UserBlock[]): JournalRecord {
  const blocks = [text(words), ...more] as Extract<JournalRecord, { type: 'prompt' }>['blocks']
  return { type: 'prompt', text: words, blocks, cwd: '/d', limits: LIMITS }
}

function reply(content: AssistantBlock[], more: Partial<ReplyRecord> = {}): ReplyRecord {
  const calls = content.some((block) => block.type === 'tool_use')
  const usage = { ...NO_USAGE, input_tokens: 100, output_tokens: 10 }
  const stop_reason = calls ? 'tool_use' : 'end_turn'
  return { type: 'reply', id: 'msg', model: 'm', content, stop_reason, usage, measured: true, ms: 7, ...more }
}

const started = (id: string): JournalRecord => ({ type: 'toolStarted', id })

function finished(id: string, content: string, more: Partial<ToolFinishedRecord> = {}): JournalRecord {
  return { type: 'toolFinished', id, content, is_error: false, ms: 2, ...more }
}

function compacted(more: Partial<CompactedRecord> = {}): CompactedRecord {
  const usage = { ...NO_USAGE, input_tokens: 1500, output_tokens: 20 }
  const transcript = '.task_outputs/transcripts/s-1.jsonl'
  return {
    type: 'compacted',
    trigger: 'budget',
    summary: 'SUM',
    kept: 0,
    transcript,
    before_tokens: 2000,
    usage,
    ms: 5,
    ...more,
  }
}

const ended: JournalRecord = { type: 'turnEnded', status: 'done', subtype: 'success' }
const folded = (...records: JournalRecord[]): Conversation => fold([opened, ...records])

/** What the next request would send; it must be valid, whatever came before. */
function sent(c: Conversation): Message[] {
  const messages = requestMessages(c)
  const tools = ['bash', 'compact'].map((name) => ({ name, description: '', input_schema: { type: 'object' } }))
  const body = JSON.stringify({ model: 'm', max_tokens: 9, system: 's', tools, messages: withCacheMarks(messages) })
  expect(validateRequest(body, { mayEndWithAssistant: c.turn.stop_reason === 'pause_turn' })).toBeNull()
  return messages
}

const NEVER_STARTED =
  'Never started: the run was interrupted before this call began. Nothing of it ran. Call it again if it is still needed.'
const INTERRUPTED =
  'Interrupted: the run ended while this call was running. Its outcome is unknown and it may have taken effect; check before you do it again.'

describe('A prompt', () => {
  it('stays apart from the conversation until it is answered', () => {
    const c = folded(prompt('do it'))
    expect(c).toEqual({
      ...EMPTY,
      session: { session_id: 's', cwd: '/d', model: 'm' },
      pending: [text('do it')],
      request: [text('do it')],
      weight: { gauge: 'none', context: 0, added: 10 },
      prompts: 1,
      firstPrompt: 'do it',
      lastPrompts: ['do it'],
      turn: { ...EMPTY.turn, status: 'open', limits: LIMITS },
    })
    expect(sent(c)).toEqual([user(text('do it'))])
  })

  it('loses blank blocks and half characters, which the API would refuse for ever', () => {
    const c = folded(prompt('look at \ud83d this', text(' \n'), text('file \udc00')))
    expect(sent(c)).toEqual([user(text('look at \ufffd this'), text('file \ufffd'))])
    expect(c.firstPrompt).toBe('look at \ud83d this')
  })

  it('comes once and first where the turn before it failed', () => {
    const failed: JournalRecord = { type: 'callFailed', reason: 'api_error', message: 'overloaded', status: 529, ms: 3 }
    const c = folded(
      prompt('P1'),
      failed,
      { type: 'turnEnded', status: 'failed', subtype: 'error_during_execution', message: 'overloaded' },
      prompt('P2'),
    )
    expect(sent(c)).toEqual([user(text('P1'), text('P2'))])
    expect(c.turn).toEqual({ ...EMPTY.turn, status: 'open', limits: LIMITS })
  })
})

describe('A reply', () => {
  it('without a call answers the turn', () => {
    const c = folded(prompt('do it'), reply([text('done it')]))
    expect(c.messages).toEqual([user(text('do it')), assistant(text('done it'))])
    expect(c.turn).toEqual({
      ...EMPTY.turn,
      status: 'answered',
      limits: LIMITS,
      calls: 1,
      text: 'done it',
      stop_reason: 'end_turn',
      usage: { ...NO_USAGE, input_tokens: 100, output_tokens: 10 },
      api_ms: 7,
    })
    expect({ pending: c.pending, round: c.round, gauge: c.gauge }).toEqual({ pending: [], round: [], gauge: 100 })
  })

  it('that is empty answers the turn and leaves no message', () => {
    const c = folded(prompt('P1'), reply([]), ended, prompt('P2'))
    expect(sent(c)).toEqual([user(text('P1'), text('P2'))])
  })

  it('keeps its calls and loses its blank text', () => {
    const c = folded(prompt('P'), reply([text(' \n'), call('a')]), started('a'), finished('a', 'out'))
    expect(sent(c)).toEqual([user(text('P')), assistant(call('a')), user(result('a', 'out'))])
  })

  it('keeps thinking untouched, signature and all, in its place', () => {
    const thinking = { type: 'thinking' as const, thinking: ' let me\u0000see ', signature: 'c2ln' }
    const redacted = { type: 'redacted_thinking' as const, data: 'xyz' }
    const c = folded(
      prompt('P'),
      reply([thinking, redacted, text('so'), call('a')]),
      started('a'),
      finished('a', 'out'),
    )
    expect(sent(c)[1]).toEqual(assistant(thinking, redacted, text('so'), call('a')))
  })

  it('with half a character in its text or a call is mended', () => {
    const broken = { ...call('a'), input: { command: 'echo \ud83d', 'k\udc00': 1 } }
    const c = folded(prompt('P'), reply([text('a \ud83d'), broken]), started('a'), finished('a', 'out \udfff'))
    const mended = { ...call('a'), input: { command: 'echo \ufffd', 'k\ufffd': 1 } }
    expect(sent(c)).toEqual([user(text('P')), assistant(text('a \ufffd'), mended), user(result('a', 'out \ufffd'))])
  })

  it('that was refused leaves nothing but the failure', () => {
    const c = folded(prompt('P1'), reply([text('I will not'), call('a')], { stop_reason: 'refusal' }))
    expect(sent(c)).toEqual([user(text('P1'))])
    expect({ round: c.round, calls: c.turn.calls, subtype: c.turn.failure?.subtype }).toEqual({
      round: [],
      calls: 1,
      subtype: 'error_during_execution',
    })
  })

  it('that was paused goes on in the same message', () => {
    const paused = folded(prompt('P'), reply([text('I begin')], { stop_reason: 'pause_turn' }))
    expect(paused.turn.status).toBe('open')
    expect(sent(paused)).toEqual([user(text('P')), assistant(text('I begin'))])
    const whole = step(paused, reply([text('and end')]))
    expect(whole.messages).toEqual([user(text('P')), assistant(text('I begin'), text('and end'))])
  })

  it('that was paused ends neither in white space nor in thinking, which no server takes as the end of a request', () => {
    const thinking = { type: 'thinking' as const, thinking: 'hm', signature: 'c2ln' }
    const paused = folded(prompt('P'), reply([thinking, text(' so: \n'), thinking], { stop_reason: 'pause_turn' }))
    expect(sent(paused)).toEqual([user(text('P')), assistant(thinking, text(' so:'))])
    const whole = step(paused, reply([text('that \n')]))
    expect(whole.messages).toEqual([user(text('P')), assistant(thinking, text(' so:'), text('that \n'))])
  })

  it('loses its thinking once another model is asked, which could not read it', () => {
    const thinking = { type: 'thinking' as const, thinking: 'hm', signature: 'c2ln' }
    const redacted = { type: 'redacted_thinking' as const, data: 'xyz' }
    const asks = (model: string): JournalRecord => ({ type: 'context', hash: model, model, system: 's', tools: [] })
    const c = folded(
      ...[asks('m1'), prompt('P1'), reply([redacted]), ended],
      ...[prompt('P2'), asks('m1'), reply([thinking, text('so'), call('a')]), started('a'), finished('a', 'out')],
    )
    const asOther = [
      ...[user(text('P1')), assistant(text('(nothing but thinking)')), user(text('P2'))],
      ...[assistant(text('so'), call('a')), user(result('a', 'out'))],
    ]
    expect(requestMessages(forModel(c, 'm1'))[3]).toEqual(assistant(thinking, text('so'), call('a')))
    expect(requestMessages(forModel(c, 'm2'))).toEqual(asOther)
    expect(sent(step(c, asks('m2')))).toEqual(asOther)
    expect(sent(step(step(c, asks('m2')), asks('m1')))).toEqual(asOther)
  })

  it('that was paused is still to be gone on with after two restarts', () => {
    const resumed: JournalRecord = { type: 'resumed', cwd: '/d', limits: LIMITS }
    const c = folded(prompt('P'), reply([text('I begin')], { stop_reason: 'pause_turn' }), resumed, resumed)
    expect(isUnfinished(c)).toBe(true)
    expect(sent(c)).toEqual([user(text('P')), assistant(text('I begin'))])
  })
})

describe('Calls', () => {
  it('are answered in their order, whichever ended first, and before the words of a new prompt', () => {
    const c = folded(
      prompt('P'),
      reply([call('a'), call('b'), call('c')]),
      ...[started('a'), started('b'), started('c')],
      ...[finished('c', 'C'), finished('a', 'A'), finished('b', 'B', { is_error: true })],
    )
    const results = user(result('a', 'A'), result('b', 'B', true), result('c', 'C'))
    expect(sent(c)).toEqual([user(text('P')), assistant(call('a'), call('b'), call('c')), results])
    expect(c.turn.status).toBe('open')
  })

  it('tell after a restart which was interrupted and which never began; what finished keeps its result', () => {
    const c = folded(
      prompt('P1'),
      reply([call('a'), call('b'), call('c')]),
      ...[started('a'), started('b'), finished('a', 'A')],
      prompt('P2'),
    )
    expect(sent(c).at(-1)).toEqual(
      user(result('a', 'A'), result('b', INTERRUPTED, true), result('c', NEVER_STARTED, true), text('P2')),
    )
  })

  it('without an output say so', () => {
    const c = folded(prompt('P'), reply([call('a')]), started('a'), finished('a', '\n'))
    expect(sent(c).at(-1)).toEqual(user(result('a', '(no output)')))
  })

  it('keep their first result', () => {
    const c = folded(prompt('P'), reply([call('a')]), started('a'), finished('a', 'first'), finished('a', 'second'))
    expect(sent(c).at(-1)).toEqual(user(result('a', 'first')))
  })

  it('that were refused are listed', () => {
    const c = folded(prompt('P'), reply([call('a')]), finished('a', 'no', { is_error: true, denied: true }))
    expect(c.turn.denials).toEqual([{ tool_name: 'bash', tool_use_id: 'a', tool_input: { command: 'ls' } }])
  })

  it('that were refused are listed in call order, those of a subagent in the place of its task', () => {
    const refused = { is_error: true, denied: true }
    const inside = { tool_name: 'write_file', tool_use_id: 'x', tool_input: {} }
    const c = folded(
      prompt('P'),
      reply([call('first')]),
      finished('first', 'no', refused),
      reply([call('a'), call('b'), call('c'), call('d')]),
      ...[started('b'), finished('d', 'no', refused), finished('c', 'no', refused)],
      ...[finished('b', 'part of it', { denials: [inside] }), finished('a', 'no', refused)],
    )
    expect(c.turn.denials.map(({ tool_use_id }) => tool_use_id)).toEqual(['first', 'a', 'x', 'c', 'd'])
  })

  it('of a reply that was cut off do not run; the model is told why', () => {
    const incomplete = { reason: 'cut off', broken: [{ id: 'b', problem: 'not JSON' }] }
    const c = folded(prompt('P'), reply([call('a'), call('b')], { stop_reason: 'max_tokens', incomplete }))
    expect(sent(c).at(-1)).toEqual(user(result('a', 'cut off', true), result('b', 'not JSON', true)))
    expect({ status: c.turn.status, cut: c.turn.cutReplies, failure: c.turn.failure }).toEqual({
      status: 'open',
      cut: 1,
      failure: null,
    })
  })

  it('that come cut off four times in a row end the turn', () => {
    const cut = (id: string) => reply([call(id)], { stop_reason: 'max_tokens', incomplete: { reason: 'cut off' } })
    const thrice = folded(prompt('P'), cut('a'), cut('b'), cut('c'))
    expect(thrice.turn.failure).toBeNull()
    expect(step(thrice, cut('d')).turn.failure?.message).toMatch(/^The model's tool calls came cut or broken 4 times/)
  })

  it('get another id where theirs was used before', () => {
    const messages = [user(text('P')), assistant(call('a'), call('a_2')), user(result('a', ''), result('a_2', ''))]
    const incomplete = { reason: 'r', broken: [{ id: 'a', problem: 'p' }] }
    expect(withUniqueIds(reply([call('a'), call('b')], { incomplete }), messages)).toEqual(
      reply([call('a_3'), call('b')], { incomplete: { reason: 'r', broken: [{ id: 'a_3', problem: 'p' }] } }),
    )
    const fine = reply([call('b')])
    expect(withUniqueIds(fine, messages)).toBe(fine)
  })
})

describe('A compaction', () => {
  const LONG = { usage: { ...NO_USAGE, input_tokens: 2000 } }
  const where = '.task_outputs/transcripts/s-1.jsonl'

  it('in the middle of a turn takes the results in and carries the request word for word', () => {
    const before = folded(prompt('P'), reply([call('a')], LONG), started('a'), finished('a', 'A'))
    expect(summaryMessages(before, text('ASK'))).toEqual([
      user(text('P')),
      assistant(call('a')),
      user(result('a', 'A'), text('ASK')),
    ])
    const c = step(before, compacted())
    expect(sent(c)).toEqual([user(summaryMessage('SUM', where, 'underWay'), text('P'))])
    expect({ gauge: c.gauge, round: c.round, count: c.turn.compaction.count }).toEqual({
      gauge: 0,
      round: [],
      count: 1,
    })
  })

  it('before a new prompt leaves the prompt out of what is summarised, and sends it once', () => {
    const before = folded(prompt('P1'), reply([text('A1')], LONG), ended, prompt('P2 @file', text('its text')))
    expect(summaryMessages(before, text('ASK'))).toEqual([user(text('P1')), assistant(text('A1')), user(text('ASK'))])
    expect(sent(step(before, compacted()))).toEqual([
      user(summaryMessage('SUM', where, 'new'), text('P2 @file'), text('its text')),
    ])
  })

  it('takes the place of the one before it', () => {
    const first = folded(prompt('P1'), reply([text('A1')], LONG), ended, prompt('P2'), compacted({ summary: 'S1' }))
    const second = [reply([text('A2')], LONG), ended, prompt('P3'), compacted({ summary: 'S2' })].reduce(step, first)
    expect(sent(second)).toEqual([user(summaryMessage('S2', where, 'new'), text('P3'))])
    expect(second.compactions).toBe(2)
  })

  it('in an emergency keeps the latest rounds as they are', () => {
    const before = folded(
      prompt('P'),
      reply([call('a')]),
      ...[started('a'), finished('a', 'A'), reply([call('b')]), started('b'), finished('b', 'B')],
      { type: 'callFailed', reason: 'too_long', message: 'prompt is too long', status: 400, ms: 3 },
    )
    expect(before.turn.compaction.due).toEqual({ trigger: 'emergency' })
    const c = step(before, compacted({ trigger: 'emergency', kept: 1 }))
    expect(sent(c)).toEqual([
      user(summaryMessage('SUM', where, 'underWay'), text('P')),
      assistant(call('b')),
      user(result('b', 'B')),
    ])
    const again = step(c, { type: 'callFailed', reason: 'too_long', message: 'still too long.', status: 400, ms: 3 })
    expect(again.turn.failure?.message).toMatch(/^still too long\. It is still too long after a compaction\./)
  })

  it('that failed changes nothing; where it was needed, the turn fails', () => {
    const before = folded(prompt('P1'), reply([text('A1')], LONG), ended, prompt('P2'))
    const failed = (trigger: CompactedRecord['trigger']) =>
      step(before, { type: 'compactionFailed', trigger, message: 'it was empty', usage: NO_USAGE, ms: 5 })
    expect(sent(failed('budget'))).toEqual(sent(before))
    expect(failed('budget').turn.failure?.message).toBe('it was empty')
    expect(failed('tool').turn.failure).toBeNull()
  })

  it('is due where the model asked for it and the tool agreed', () => {
    const asked = { ...call('k', 'compact'), input: { focus: 'tests' } }
    const c = folded(prompt('P'), reply([asked]), started('k'), finished('k', 'ok'))
    expect(c.turn.compaction.due).toEqual({ trigger: 'tool', focus: 'tests' })
    const refused = folded(prompt('P'), reply([asked]), finished('k', 'no', { is_error: true }))
    expect(refused.turn.compaction.due).toBeNull()
  })
})

describe('A summary that a person asks for', () => {
  const asked = (focus: string | null): JournalRecord => ({
    type: 'resumed',
    cwd: '/d',
    limits: LIMITS,
    compact: { focus },
  })
  const before = folded(prompt('Do it.'), reply([text('Done.')]), ended)

  it('is a turn whose one purpose it is, due at once, with what it is to be about', () => {
    const c = step(before, asked('the files'))
    expect(c.turn).toEqual({
      ...EMPTY.turn,
      status: 'open',
      limits: LIMITS,
      isCompaction: true,
      compaction: { ...EMPTY.turn.compaction, due: { trigger: 'tool', focus: 'the files' } },
    })
  })

  it('leaves the summary alone, and the turn is answered with it: the old request is not asked again', () => {
    const c = step(step(before, asked(null)), compacted({ trigger: 'tool' }))
    expect([c.messages, c.pending, c.request, c.turn.status]).toEqual([
      [user(summaryMessage('SUM', '.task_outputs/transcripts/s-1.jsonl', 'new'))],
      [],
      [],
      'answered',
    ])
    const next = fold([ended, prompt('And now?')], c)
    expect(requestMessages(next)).toEqual([
      user(summaryMessage('SUM', '.task_outputs/transcripts/s-1.jsonl', 'new'), text('And now?')),
    ])
  })

  it('keeps words that wait for an answer, and calls that were left open', () => {
    const left = folded(prompt('Do it.'), reply([call('1')]), started('1'))
    const c = step(step(left, asked(null)), compacted({ trigger: 'tool' }))
    expect([c.round, c.pending]).toEqual([[], []])
    const waiting = folded(prompt('Do it.'), reply([text('Done.')]), ended, prompt('More.'))
    expect(fold([asked(null), compacted({ trigger: 'tool' })], waiting).pending).toEqual([text('More.')])
  })

  it('that fails is said, and the conversation stays', () => {
    const failed: JournalRecord = {
      type: 'compactionFailed',
      trigger: 'tool',
      message: 'No summary.',
      usage: NO_USAGE,
      ms: 1,
    }
    const c = step(step(before, asked(null)), failed)
    expect([c.messages, c.turn.failure]).toEqual([
      before.messages,
      { subtype: 'error_during_execution', message: 'No summary.' },
    ])
  })
})

describe('A turn', () => {
  it('that was answered but not closed keeps its answer when it is carried on', () => {
    const c = folded(prompt('P'), reply([text('A')]), { type: 'resumed', cwd: '/d', limits: LIMITS })
    expect({ status: c.turn.status, text: c.turn.text, calls: c.turn.calls }).toEqual({
      status: 'answered',
      text: 'A',
      calls: 0,
    })
  })

  it('that a service broke names the service', () => {
    expect(folded(prompt('P'), { type: 'fault', service: 'callModel', message: 'boom' }).turn.failure).toEqual({
      subtype: 'error_during_execution',
      message: 'Internal error in callModel: boom',
    })
  })
})

it('No step changes the conversation it was given', () => {
  const records = [
    ...[opened, prompt('P'), reply([call('a'), call('b')]), started('a'), finished('a', 'A'), prompt('P2')],
    ...[reply([text('A2')]), ended, prompt('P3'), compacted(), reply([text('A3')]), ended],
  ]
  let c = frozen(EMPTY)
  for (const record of records) c = frozen(step(c, frozen(record)))
  expect(sent(step(c, prompt('P4'))).length).toBe(3)
})

function frozen<T>(value: T): T {
  if (value !== null && typeof value === 'object' && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const item of Object.values(value)) frozen(item)
  }
  return value
}
