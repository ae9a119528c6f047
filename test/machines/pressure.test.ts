import { describe, expect, test } from 'vitest'
import { isUnderPressure, nextInput } from '../../src/machines/budget.ts'
import type { Conversation } from '../../src/machines/conversation.ts'
import { step } from '../../src/machines/fold.ts'
import type { TurnLimits } from '../../src/machines/journal.ts'
import { longConversation } from './conversations.ts'

/** 20 rounds, of which the layers put away 17 results of about 1,000 tokens each. */
function loaded(gauge: number, change: Partial<Conversation> = {}, limits: Partial<TurnLimits> = {}): Conversation {
  const c = longConversation(42, 4_000)
  const turn = { ...c.turn, limits: { max_turns: 99, input_tokens: 40_000, ...limits } }
  return { ...c, gauge, weight: { ...c.weight, added: 0 }, turn, ...change }
}

describe('the cheap layers wait', () => {
  test.each([
    ['at half the budget', loaded(20_000), false],
    ['over half of it', loaded(20_001), true],
    [
      'where what was added makes it so',
      loaded(100, { weight: { gauge: 'reported', added: 20_000, context: 0 } }),
      true,
    ],
    ['where there is little to free', { ...longConversation(42, 200), gauge: 45_000 }, false],
    ['nine replies after the last pass', loaded(30_000, { repliesSinceTrim: 9 }), false],
    ['ten replies after it', loaded(30_000, { repliesSinceTrim: 10 }), true],
    ['soon after it, near the budget', loaded(39_000, { repliesSinceTrim: 2 }), true],
    ['soon after it, where no pass would be enough', loaded(390_000, { repliesSinceTrim: 2 }), false],
    ['right after a pass', loaded(39_000, { repliesSinceTrim: 0 }), false],
    ['never, where they always run', loaded(1, {}, { always: true }), true],
    ['where they always run, after a pass for this call', loaded(1, { repliesSinceTrim: 0 }, { always: true }), false],
    ['where they always run and there is nothing to do', { ...loaded(1, {}, { always: true }), messages: [] }, false],
  ])('%s', (_, conversation, expected) => {
    expect(isUnderPressure(conversation)).toBe(expected)
  })
})

describe('the next input', () => {
  const usage = {
    input_tokens: 1_000,
    output_tokens: 5,
    cache_creation_input_tokens: 200,
    cache_read_input_tokens: 3_000,
  }
  const reply = {
    type: 'reply' as const,
    id: 'm',
    model: 'm',
    content: [{ type: 'tool_use' as const, id: 'x', name: 'bash', input: {} }],
    stop_reason: 'tool_use',
    measured: true,
    ms: 1,
  }

  test('is the last reply’s whole input and what came since', () => {
    const replied = step(longConversation(4), { ...reply, usage })
    expect(replied.gauge).toBe(4_200)
    const before = nextInput(replied)
    const after = step(replied, { type: 'toolFinished', id: 'x', content: 'y'.repeat(4_000), is_error: false, ms: 1 })
    expect(nextInput(after) - before).toBe(1_008)
  })

  test.each([
    [
      'no usage',
      {
        ...reply,
        measured: false,
        usage: { ...usage, input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
      },
    ],
    [
      'a usage of zeros',
      { ...reply, usage: { ...usage, input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 } },
    ],
  ])('grows by estimate with %s', (_, unmeasured) => {
    let c = longConversation(4)
    const gauges = [1, 2, 3].map((n) => {
      c = step(c, { ...unmeasured, content: [{ type: 'tool_use', id: `x${n}`, name: 'bash', input: {} }] })
      c = step(c, { type: 'toolFinished', id: `x${n}`, content: 'y'.repeat(4_000), is_error: false, ms: 1 })
      return c.gauge
    })
    expect(gauges[2]).toBeGreaterThan((gauges[1] ?? 0) + 1_000)
    expect(c.weight.gauge).toBe('estimated')
  })

  test('a character of another script counts for its bytes, an image for its tokens', () => {
    const tokens = (content: Parameters<typeof step>[1] & { type: 'toolFinished' }) => {
      const c = step(longConversation(4), { ...reply, usage })
      return nextInput(step(c, content)) - nextInput(c)
    }
    const finished = { type: 'toolFinished' as const, id: 'x', is_error: false, ms: 1 }
    expect(tokens({ ...finished, content: '字'.repeat(400) })).toBe(308)
    const image = {
      type: 'image' as const,
      source: { type: 'base64' as const, media_type: 'image/png', data: 'A'.repeat(99_999) },
    }
    expect(tokens({ ...finished, content: [image] })).toBe(1_608)
  })
})
