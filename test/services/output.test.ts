import fc from 'fast-check'
import picocolors from 'picocolors'
import { describe, expect, it, vi } from 'vitest'
import { NO_USAGE, type ToolUseBlock } from '../../src/machines/messages.ts'
import { createOutput, type OutputOptions, observeSubagent, wantsColor } from '../../src/services/output/index.ts'
import { compactedLine } from '../../src/services/output/notices.ts'
import type { Progress, RunResult } from '../../src/services/ports.ts'
import { Capture } from '../support/capture.ts'

const ID = '0f0e0d0c-0b0a-4908-8706-050403020100'

const success: RunResult = {
  type: 'result',
  subtype: 'success',
  is_error: false,
  result: 'All green.',
  session_id: ID,
  num_turns: 2,
  duration_ms: 3_200,
  duration_api_ms: 2_900,
  stop_reason: 'end_turn',
  usage: { ...NO_USAGE, input_tokens: 1_500, output_tokens: 40 },
  total_cost_usd: 0.0051,
  permission_denials: [],
}

const started: Progress = { type: 'started', session_id: ID, cwd: '/p', model: 'm-1', tools: ['bash', 'grep'] }
const call: ToolUseBlock = { type: 'tool_use', id: 'c1', name: 'bash', input: { command: 'npm test' } }

function reply(text: string, options: { calls?: ToolUseBlock[]; parent?: string } = {}): Progress {
  const calls = options.calls ?? []
  return {
    type: 'reply',
    parent_tool_use_id: options.parent ?? null,
    record: {
      type: 'reply',
      id: 'msg_1',
      model: 'm-1',
      content: [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...calls],
      stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
      usage: { ...NO_USAGE, input_tokens: 1_000, output_tokens: 20 },
      measured: true,
      ms: 10,
    },
  }
}

const results: Progress = {
  type: 'toolResults',
  message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: '3 passed' }] },
  parent_tool_use_id: null,
}

/** A run with one tool round, as the agent reports it. */
const toolRun: Progress[] = [
  started,
  { type: 'state', state: 'calling' },
  { type: 'text', text: 'Let me ' },
  { type: 'text', text: 'look.' },
  reply('Let me look.', { calls: [call] }),
  { type: 'state', state: 'runningTool' },
  { type: 'toolStarted', call },
  { type: 'toolFinished', call, is_error: false, ms: 1_234 },
  results,
  { type: 'state', state: 'calling' },
  { type: 'text', text: 'All ' },
  { type: 'text', text: 'green.' },
  reply('All green.'),
]

async function capture(options: Partial<OutputOptions>, events: Progress[], result: RunResult | null = success) {
  const stdout = new Capture()
  const stderr = new Capture()
  const output = createOutput({
    format: 'text',
    stdout,
    stderr,
    stdoutIsTty: false,
    stderrIsTty: false,
    env: {},
    columns: () => 80,
    ...options,
  })
  for (const event of events) output.observe(event)
  if (result !== null) await output.finish(result)
  return { stdout: stdout.text, stderr: stderr.text, output }
}

const TERMINAL = { stdoutIsTty: true, stderrIsTty: true, env: { NO_COLOR: '1' } }

describe('json', () => {
  it('is exactly one document and a line end, whatever happened on the way', async () => {
    const events: Progress[] = [...toolRun, { type: 'warning', message: 'A skill is broken.' }]
    const { stdout, stderr } = await capture({ format: 'json' }, events)
    expect(JSON.parse(stdout)).toEqual(success)
    expect(stdout).toBe(`${JSON.stringify(success)}\n`)
    expect(stderr).toBe('warning: A skill is broken.\n')
  })

  it('keeps control sequences as escapes, so that none is raw and all can be read back', async () => {
    const text = 'a\u001b[2Jb\u009b2Jc\u0007d\u007fe\u202ef\u2028g\rh'
    const { stdout } = await capture({ format: 'json' }, [], { ...success, result: text })
    expect(stdout).not.toMatch(/[\0-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]/)
    expect(JSON.parse(stdout).result).toBe(text)
  })

  it('has no half of a surrogate pair', async () => {
    const { stdout } = await capture({ format: 'json' }, [], { ...success, result: 'x\ud83dy 😀' })
    expect(JSON.parse(stdout).result).toBe('x\ufffdy 😀')
    expect(stdout).not.toMatch(/\\ud[89a-f]/i)
  })

  it('names errors on stderr as well', async () => {
    const failed: RunResult = {
      ...success,
      subtype: 'error_during_execution',
      is_error: true,
      result: '',
      errors: ['The API answered 401: invalid x-api-key.'],
    }
    const { stdout, stderr } = await capture({ format: 'json' }, [started], failed)
    expect(JSON.parse(stdout)).toEqual(failed)
    expect(stderr).toBe('error: The API answered 401: invalid x-api-key.\n')
  })
})

describe('stream-json', () => {
  it('is an object a line, each with the session id, the result last', async () => {
    const events: Progress[] = [
      ...toolRun,
      reply('from a subagent', { parent: 'c9' }),
      { type: 'compacted', trigger: 'budget', before_tokens: 9_000, after_tokens: 800 },
      { type: 'retry', attempt: 1, delay_ms: 500, status: 529, error: 'overloaded_error: Overloaded' },
      { type: 'textDiscarded' },
    ]
    const { stdout } = await capture({ format: 'stream-json' }, events)
    const message = (content: unknown[], stop_reason: string) => ({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm-1',
      content,
      stop_reason,
      usage: { ...NO_USAGE, input_tokens: 1_000, output_tokens: 20 },
    })
    const text = (value: string) => ({ type: 'text', text: value })
    expect(stdout.endsWith('\n')).toBe(true)
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([
      { type: 'system', subtype: 'init', cwd: '/p', model: 'm-1', tools: ['bash', 'grep'], session_id: ID },
      {
        type: 'assistant',
        message: message([text('Let me look.'), call], 'tool_use'),
        parent_tool_use_id: null,
        session_id: ID,
      },
      {
        type: 'user',
        message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: '3 passed' }] },
        parent_tool_use_id: null,
        session_id: ID,
      },
      {
        type: 'assistant',
        message: message([text('All green.')], 'end_turn'),
        parent_tool_use_id: null,
        session_id: ID,
      },
      {
        type: 'assistant',
        message: message([text('from a subagent')], 'end_turn'),
        parent_tool_use_id: 'c9',
        session_id: ID,
      },
      {
        type: 'system',
        subtype: 'compact_boundary',
        compact_metadata: { trigger: 'budget', pre_tokens: 9_000, post_tokens: 800 },
        session_id: ID,
      },
      {
        type: 'system',
        subtype: 'api_retry',
        attempt: 1,
        retry_delay_ms: 500,
        error_status: 529,
        error: 'overloaded_error: Overloaded',
        session_id: ID,
      },
      success,
    ])
  })

  it('gives the session id also to lines that came before it was known', async () => {
    const retry: Progress = { type: 'retry', attempt: 1, delay_ms: 1, status: null, error: 'ECONNREFUSED' }
    const lines = async (events: Progress[]) => {
      const { stdout } = await capture({ format: 'stream-json' }, events)
      return stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
        .map((line) => [line.subtype, line.session_id])
    }
    expect(await lines([retry, started])).toEqual([
      ['init', ID],
      ['api_retry', ID],
      ['success', ID],
    ])
    expect(await lines([retry])).toEqual([
      ['api_retry', ID],
      ['success', ID],
    ])
  })
})

describe('text in a pipe', () => {
  it('is the final answer alone, with the session id on stderr', async () => {
    expect(await capture({}, toolRun)).toMatchObject({ stdout: 'All green.\n', stderr: `session ${ID}\n` })
  })

  it('holds nothing twice after a reply that broke off', async () => {
    const events: Progress[] = [
      started,
      { type: 'text', text: 'All gr' },
      { type: 'textDiscarded' },
      { type: 'retry', attempt: 1, delay_ms: 2_000, status: null, error: 'the stream broke off' },
      { type: 'text', text: 'All green.' },
      reply('All green.'),
    ]
    expect(await capture({}, events)).toMatchObject({
      stdout: 'All green.\n',
      stderr: `retry 1 in 2.0s: the stream broke off\nsession ${ID}\n`,
    })
  })

  it('adds no second line end, and writes nothing where there is no answer', async () => {
    expect((await capture({}, [], { ...success, result: 'line\n' })).stdout).toBe('line\n')
    expect((await capture({}, [], { ...success, result: '' })).stdout).toBe('')
  })

  it('says on stderr what failed, what was cut and what was refused', async () => {
    const { stdout, stderr } = await capture({}, [started], {
      ...success,
      is_error: true,
      subtype: 'error_max_turns',
      errors: ['The run reached its limit of 3 model calls.\u001b[2J'],
      stop_reason: 'max_tokens',
      permission_denials: [
        { tool_name: 'bash', tool_use_id: 'a', tool_input: {} },
        { tool_name: 'bash', tool_use_id: 'b', tool_input: {} },
      ],
    })
    expect(stdout).toBe('All green.\n')
    expect(stderr).toBe(
      [
        'error: The run reached its limit of 3 model calls.␛[2J',
        'note: The answer was cut at the model\'s output limit (max_tokens). `agent -c -p "go on"` asks for the rest.',
        'note: 2 tool calls were refused for lack of permission (bash). Each of them says in its result what would allow it.',
        `session ${ID}`,
        '',
      ].join('\n'),
    )
  })

  it('has no progress and no escape code on stderr where that is no terminal', async () => {
    vi.useFakeTimers()
    try {
      const { stdout, stderr } = await capture({ env: { FORCE_COLOR: '1' } }, toolRun, null)
      vi.advanceTimersByTime(10_000)
      expect([stdout, stderr]).toEqual(['', ''])
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('text on a terminal', () => {
  it('streams every text of the agent, a blank line between two replies', async () => {
    expect(await capture(TERMINAL, toolRun)).toMatchObject({
      stdout: 'Let me look.\n\nAll green.\n',
      stderr: `✓ bash npm test 1.2s\nsession ${ID} · 3.2s · 2 model calls · 1.5k tokens in, 40 out · $0.0051\n`,
    })
  })

  it('marks a reply that broke off as void and goes on with the new text', async () => {
    const events: Progress[] = [
      started,
      { type: 'text', text: 'All gr' },
      { type: 'textDiscarded' },
      { type: 'text', text: 'All green.' },
      reply('All green.'),
    ]
    const { stdout, stderr } = await capture(TERMINAL, events)
    expect(stdout).toBe('All gr\n\nAll green.\n')
    expect(stderr.split('\n')[0]).toBe('-- The reply broke off here and is asked for again: its text above is void. --')
  })

  it('marks it on stdout where stderr leads elsewhere', async () => {
    const events: Progress[] = [
      started,
      { type: 'text', text: 'All gr' },
      { type: 'textDiscarded' },
      reply('All green.'),
    ]
    const { stdout, stderr } = await capture({ ...TERMINAL, stderrIsTty: false }, events)
    expect([stdout, stderr]).toEqual([
      'All gr\n-- The reply broke off here and is asked for again: its text above is void. --\n\nAll green.\n',
      `session ${ID}\n`,
    ])
  })

  it('says nothing of a broken reply of which nothing was shown', async () => {
    const events: Progress[] = [started, { type: 'text', text: '\n' }, { type: 'textDiscarded' }, reply('All green.')]
    const { stdout, stderr } = await capture(TERMINAL, events)
    expect(stdout).toBe('All green.\n')
    expect(stderr).toMatch(/^session /)
  })

  it('shows the text of a reply that was not streamed, and only what is missing of one that was in part', async () => {
    expect((await capture(TERMINAL, [started, reply('All green.')])).stdout).toBe('All green.\n')
    const part: Progress[] = [started, { type: 'text', text: 'All ' }, reply('All green.')]
    expect((await capture(TERMINAL, part)).stdout).toBe('All green.\n')
  })

  it('shows the answer of a run that reported none of its replies', async () => {
    expect((await capture(TERMINAL, [started])).stdout).toBe('All green.\n')
  })

  it('leaves out the text of subagents and of summaries', async () => {
    const events: Progress[] = [
      started,
      reply('a subagent says', { parent: 'c1' }),
      { type: 'state', state: 'compacting' },
      { type: 'text', text: 'Goal: …' },
      { type: 'compacted', trigger: 'budget', before_tokens: 120_000, after_tokens: 4_000 },
      { type: 'state', state: 'calling' },
      { type: 'text', text: 'All green.' },
      reply('All green.'),
    ]
    const { stdout, stderr } = await capture(TERMINAL, events)
    expect(stdout).toBe('All green.\n')
    expect(stderr.split('\n')[0]).toBe('~ compacted 120k → 4k tokens (auto)')
  })

  it('says in short how large a conversation was before a compaction, is now, and why it was made', () => {
    const line = (trigger: string, before_tokens: number, after_tokens: number) =>
      compactedLine({ type: 'compacted', trigger, before_tokens, after_tokens }, picocolors.createColors(false))
    expect([
      line('budget', 182_345, 6_012),
      line('tool', 9_940, 950),
      line('emergency', 999_500, 9_960),
      line('tool', 1_249_000, 1_000),
    ]).toEqual([
      '~ compacted 182k → 6k tokens (auto)',
      '~ compacted 9.9k → 950 tokens (as asked)',
      '~ compacted 1M → 10k tokens (input too long)',
      '~ compacted 1.2M → 1k tokens (as asked)',
    ])
  })

  it('never sends a control sequence of model, tool, file or error, however it is cut into chunks', async () => {
    const evil = fc.string({
      unit: fc.constantFrom(
        '\u001b',
        '[2J',
        ']52;c;eA==',
        '\u0007',
        '\u001b\\',
        '\u009b',
        '\u0085',
        '\r',
        '\n',
        '\u007f',
        '\b',
        '\u202e',
        'word',
        '😀',
        '\ud83d',
      ),
      maxLength: 12,
    })
    await fc.assert(
      fc.asyncProperty(fc.array(evil, { minLength: 1 }), evil, async (chunks, other) => {
        const events: Progress[] = [
          started,
          ...chunks.map((text): Progress => ({ type: 'text', text })),
          { type: 'toolFinished', call: { ...call, name: other, input: { command: other } }, is_error: true, ms: 1 },
          { type: 'warning', message: other },
          { type: 'retry', attempt: 1, delay_ms: 1, status: 500, error: other },
          { type: 'state', state: other },
        ]
        const failed: RunResult = { ...success, is_error: true, errors: [other], session_id: other }
        const { stdout, stderr } = await capture(TERMINAL, events, failed)
        expect(stdout + stderr).not.toMatch(/[\0-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]/)
        expect(stdout + stderr).not.toMatch(/[\ud800-\udfff]/u)
      }),
    )
  })
})

describe('progress on a terminal', () => {
  const at = (ms: number) => ({ ...TERMINAL, now: () => ms })

  /** What a terminal shows of text that holds nothing but printable characters, `\r` and `\n`. */
  function screenOf(text: string): string[] {
    return text.split('\n').map((line) => {
      let shown: string[] = []
      for (const part of line.split('\r')) shown = [...part, ...shown.slice([...part].length)]
      return shown.join('').trimEnd()
    })
  }

  async function watch(
    options: Partial<OutputOptions>,
    play: (play: (event: Progress) => void, tick: () => string[]) => void,
  ) {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const stderr = new Capture()
      const { output } = await capture({ ...TERMINAL, stderr, ...options }, [], null)
      play(output.observe, () => {
        vi.advanceTimersByTime(120)
        return screenOf(stderr.text)
      })
      output.stop()
      return {
        output,
        shown: () => screenOf(stderr.text),
        raw: () => stderr.text,
        tick: () => vi.advanceTimersByTime(1_000),
      }
    } finally {
      vi.useRealTimers()
    }
  }

  it('tells state, tool, seconds and tokens on one line, and takes it away at the end', async () => {
    let time = 0
    const seen: string[] = []
    const { shown } = await watch({ now: () => time }, (observe, tick) => {
      const look = () => seen.push(tick().at(-1) ?? '')
      observe(started)
      observe({ type: 'state', state: 'loadingContext' })
      look()
      observe({ type: 'state', state: 'calling' })
      time = 4_000
      look()
      observe(reply('', { calls: [call] }))
      observe({ type: 'state', state: 'runningTool' })
      observe({ type: 'toolStarted', call })
      time = 67_000
      look()
      observe({ type: 'toolStarted', call: { ...call, id: 'c2', name: 'grep' } })
      look()
      observe({ type: 'toolFinished', call: { ...call, id: 'c2', name: 'grep' }, is_error: true, ms: 20 })
      look()
    })
    expect(seen).toEqual([
      '- reading context 0.0s',
      '\\ thinking 4.0s',
      '| running bash npm test 1m 03s · 1.0k tokens in, 20 out',
      '/ running 2 calls: bash, grep 1m 03s · 1.0k tokens in, 20 out',
      '- running bash npm test 1m 03s · 1.0k tokens in, 20 out',
    ])
    expect(shown()).toEqual(['✗ grep npm test failed 0.0s', ''])
  })

  it("shows a subagent's calls under the task they work for, and tells tasks apart by a number", async () => {
    const task = (id: string, description: string): ToolUseBlock => ({
      ...call,
      id,
      name: 'task',
      input: { description },
    })
    const seen: string[] = []
    const { shown } = await watch(at(0), (observe, tick) => {
      const child = (id: string) => observeSubagent(observe, id)
      const look = () => seen.push(tick().at(-1) ?? '')
      observe({ type: 'toolStarted', call: task('t1', 'find the callers') })
      look()
      observe({ type: 'toolStarted', call: task('t2', 'run the tests') })
      child('t1')({ type: 'toolStarted', call: { ...call, name: 'grep', input: { pattern: 'x' } } })
      look()
      child('t2')({ type: 'toolStarted', call })
      child('t2')({ type: 'text', text: 'not for the user' })
      child('t2')({ type: 'state', state: 'persisting' })
      child('t2')({ type: 'compacted', trigger: 'budget', before_tokens: 2, after_tokens: 1 })
      look()
      child('t1')({
        type: 'toolFinished',
        call: { ...call, name: 'grep', input: { pattern: 'x' } },
        is_error: false,
        ms: 5,
      })
      child('t2')({ type: 'toolFinished', call, is_error: true, ms: 5 })
      observe({ type: 'toolFinished', call: task('t1', 'find the callers'), is_error: false, ms: 1_000 })
      look()
    })
    expect(seen).toEqual([
      '- running task #1 find the callers 0.0s',
      '\\ running 2 calls: task #2, #1 grep 0.0s',
      '| running 2 calls: #1 grep, #2 bash 0.0s',
      '/ running task #2 run the tests 0.0s',
    ])
    expect(shown()).toEqual([
      '> task #1 find the callers',
      '> task #2 run the tests',
      '  ✓ #1 grep x 0.0s',
      '  ✗ #2 bash npm test failed 0.0s',
      '✓ task #1 find the callers 1.0s',
      '',
    ])
  })

  it('never draws into a line of the answer that is not ended', async () => {
    const { shown } = await watch(at(0), (observe, tick) => {
      observe({ type: 'text', text: 'half a li' })
      expect(tick()).toEqual([''])
      observe({ type: 'text', text: 'ne\n' })
      expect(tick()).toEqual(['\\ answering 0.0s'])
      observe({ type: 'text', text: 'more' })
      expect(tick()).toEqual([''])
    })
    expect(shown()).toEqual([''])
  })

  it('ends the line for itself after a silence, sooner after a sentence, and doubles no line end', async () => {
    let time = 0
    const stdout = new Capture()
    const { shown } = await watch({ now: () => time, stdout }, (observe, tick) => {
      const wait = (ms: number) => {
        time += ms
        return tick().at(-1)
      }
      observe({ type: 'text', text: 'I write the file:' })
      expect([wait(999), wait(1)]).toEqual(['', '\\ answering 1.0s'])
      observe({ type: 'text', text: '\n\nIn the' })
      expect([wait(4_999), wait(1)]).toEqual(['', '/ answering 6.0s'])
      observe({ type: 'text', text: ' middle.' })
      expect(wait(1_000)).toBe('- answering 7.0s')
      observe(reply('I write the file:\n\nIn the middle.', { calls: [call] }))
      observe({ type: 'text', text: 'Done' })
    })
    expect(stdout.text).toBe('I write the file:\n\nIn the\n middle.\n\nDone')
    expect(shown()).toEqual([''])
  })

  it('fits the width, wide characters counted, and keeps the time', async () => {
    const wide: ToolUseBlock = { ...call, input: { command: '漢字'.repeat(40) } }
    await watch({ ...at(0), columns: () => 30 }, (observe, tick) => {
      observe({ type: 'toolStarted', call: wide })
      expect(tick()).toEqual(['- running bash 漢字漢字… 0.0s'])
      observe({ type: 'toolFinished', call: wide, is_error: false, ms: 5 })
      expect(tick()[0]).toBe('✓ bash 漢字漢字漢字漢字… 0.0s')
    })
  })

  it('gives way to a question and comes back after it', async () => {
    const stderr = new Capture()
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const { output } = await capture({ ...at(0), stderr }, [started], null)
      vi.advanceTimersByTime(120)
      const giveBack = output.pause()
      expect(screenOf(stderr.text)).toEqual([''])
      vi.advanceTimersByTime(1_000)
      expect(screenOf(stderr.text)).toEqual([''])
      giveBack()
      vi.advanceTimersByTime(120)
      expect(screenOf(stderr.text)).toEqual(['\\ starting 0.0s'])
      output.stop()
      vi.advanceTimersByTime(1_000)
      expect(screenOf(stderr.text)).toEqual([''])
    } finally {
      vi.useRealTimers()
    }
  })

  it('draws no status line on a terminal that cannot redraw, but tells of ended calls', async () => {
    const { raw } = await watch({ env: { TERM: 'dumb' } }, (observe, tick) => {
      observe({ type: 'toolStarted', call })
      tick()
      observe({ type: 'toolFinished', call, is_error: false, ms: 5 })
      tick()
    })
    expect(raw()).toBe('✓ bash npm test 0.0s\n')
  })

  it('is shown with json only where stdout leads elsewhere, and never with stream-json', async () => {
    const end: Progress[] = [{ type: 'toolFinished', call, is_error: false, ms: 5 }]
    const shown = async (format: OutputOptions['format'], stdoutIsTty: boolean) =>
      (await capture({ ...TERMINAL, format, stdoutIsTty }, end)).stderr
    expect(await shown('json', false)).toBe('✓ bash npm test 0.0s\n')
    expect(await shown('json', true)).toBe('')
    expect(await shown('stream-json', false)).toBe('')
    expect(await shown('stream-json', true)).toBe('')
  })
})

describe('colours', () => {
  it('are for terminals that can, unless the user says no', () => {
    const table: Array<[boolean, NodeJS.ProcessEnv]> = [
      [true, { TERM: 'xterm' }],
      [true, { NO_COLOR: '' }],
      [true, { NO_COLOR: '1', FORCE_COLOR: '1' }],
      [true, { TERM: 'dumb' }],
      [true, { FORCE_COLOR: '0' }],
      [false, { FORCE_COLOR: '1' }],
    ]
    expect(table.map(([isTty, env]) => wantsColor(isTty, env))).toEqual([true, true, false, false, false, false])
  })

  it('are the only control sequences, and none without them', async () => {
    const colored = await capture({ ...TERMINAL, env: {} }, toolRun)
    expect(colored.stderr).toContain('\u001b[32m✓\u001b[39m')
    expect(colored.stderr.replace(/\u001b\[\d+m/g, '')).not.toContain('\u001b')
    for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }, { FORCE_COLOR: '0' }]) {
      const { stdout, stderr } = await capture({ ...TERMINAL, env }, toolRun)
      expect(stdout + stderr).not.toContain('\u001b')
    }
  })
})
