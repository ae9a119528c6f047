import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** A whole run as a process: says what it is told to, ends with exit code 7, tells on descriptor 3 what it saw. */
const PROGRAM = `
import { writeFileSync } from 'node:fs'
import { createOutput } from './src/services/output/index.ts'
const plan = JSON.parse(process.env.PLAN)
const seen = []
const output = createOutput({
  format: plan.format,
  stdout: process.stdout,
  stderr: process.stderr,
  stdoutIsTty: process.stdout.isTTY === true,
  stderrIsTty: process.stderr.isTTY === true,
  env: process.env,
  columns: () => process.stderr.columns,
  onClosed: (why) => seen.push(why.kind),
})
const usage = { input_tokens: 1200, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
const text = plan.text.repeat(plan.times)
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
output.observe({ type: 'started', session_id: 'the-id', cwd: '/p', model: 'm', tools: [] })
output.observe({ type: 'state', state: 'calling' })
if (plan.wait) await sleep(plan.wait)
for (const chunk of plan.chunks ?? []) output.observe({ type: 'text', text: chunk })
const record = { type: 'reply', id: 'm1', model: 'm', content: [{ type: 'text', text }], stop_reason: 'end_turn', usage, measured: true, ms: 1 }
output.observe({ type: 'reply', record, parent_tool_use_id: null })
for (const warning of plan.warnings ?? []) output.observe({ type: 'warning', message: warning })
if (plan.wait) await sleep(plan.wait)
await output.finish({
  type: 'result', subtype: 'success', is_error: false, result: text, session_id: 'the-id', num_turns: 1, duration_ms: 1,
  duration_api_ms: 1, stop_reason: 'end_turn', usage, total_cost_usd: null, permission_denials: [],
})
writeFileSync(process.env.SEEN, JSON.stringify({ seen, closed: output.closed()?.kind ?? null }))
process.exit(7)
`

let directory: string

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'output-'))
  await build({
    stdin: { contents: PROGRAM, resolveDir: process.cwd(), loader: 'ts' },
    outfile: path.join(directory, 'run.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  })
})

afterAll(() => rm(directory, { recursive: true, force: true }))

interface Plan {
  format: 'text' | 'json' | 'stream-json'
  text?: string
  times?: number
  chunks?: string[]
  warnings?: string[]
  /** Time before the reply and after it, in ms. */
  wait?: number
}

/**
 * Runs a bash command in which `$RUN` is the program.
 * @returns the command's own output, the exit code of the last pipeline's first part, and what the program saw
 */
async function bash(command: string, plan: Plan, env: NodeJS.ProcessEnv = {}) {
  const seen = path.join(directory, 'seen.json')
  await rm(seen, { force: true })
  const full = { text: 'The answer.', times: 1, ...plan }
  const child = await new Promise<{ stdout: string; stderr: string }>((resolve) => {
    const options = {
      cwd: directory,
      maxBuffer: 64 * 1024 * 1024,
      env: {
        PATH: process.env.PATH,
        RUN: `${process.execPath} ${path.join(directory, 'run.mjs')}`,
        NODE: process.execPath,
        PLAN: JSON.stringify(full),
        SEEN: seen,
        TERM: 'xterm',
        ...env,
      },
    }
    execFile(
      'bash',
      ['--norc', '-c', `${command}\necho "exit \${PIPESTATUS[0]}" >exit`],
      options,
      (_, stdout, stderr) => resolve({ stdout, stderr }),
    )
  })
  const exit = (await readFile(path.join(directory, 'exit'), 'utf8')).trim()
  return { ...child, exit, ...JSON.parse(await readFile(seen, 'utf8')) }
}

const LONG = { text: 'größer 😀 und mehr\n', times: 60_000 }
const WHOLE = LONG.text.repeat(LONG.times)

describe('1 MB and more', () => {
  const answers = {
    text: (stdout: string) => stdout,
    json: (stdout: string) => JSON.parse(stdout).result,
    'stream-json': (stdout: string) => {
      const lines = stdout.trimEnd().split('\n')
      return JSON.parse(lines.at(-1) ?? '').result
    },
  }
  const ways = {
    'a pipe whose reader sleeps first': '$RUN | (sleep 1; cat)',
    'a reader that takes it in pieces': '$RUN | (head -c 70000; sleep 0.3; head -c 70000; sleep 0.3; cat)',
    // Node makes its pipes non-blocking for all who share them, and puts that right at its end unless it is killed.
    'a pipe that another process left non-blocking':
      '($NODE -e "process.stdout.write(String());process.kill(process.pid,9)" 2>/dev/null; $RUN) 2>/dev/null | (sleep 1; cat)',
    'a file': '$RUN >file; (exit $?); (cat file; exit 7)',
  }
  for (const format of ['text', 'json', 'stream-json'] as const) {
    for (const [name, command] of Object.entries(ways)) {
      it(`comes whole through ${name}, as ${format}`, async () => {
        const { stdout, exit, closed } = await bash(command, { format, ...LONG })
        expect([exit, closed]).toEqual(['exit 7', null])
        expect(answers[format](stdout) === WHOLE).toBe(true)
      })
    }
  }
})

describe('a stdout that goes away', () => {
  for (const format of ['text', 'json', 'stream-json'] as const) {
    it(`ends ${format} quietly, and tells the run once`, async () => {
      const { stdout, stderr, ...end } = await bash('$RUN | head -c 3', { format, ...LONG })
      expect(stdout.length).toBe(3)
      expect(end).toEqual({ exit: 'exit 7', seen: ['reader'], closed: 'reader' })
      expect(stderr).toBe(format === 'text' ? 'session the-id\n' : '')
    })
  }

  it('lets a run go on whose stdout and stderr were closed from the beginning', async () => {
    const { stdout, stderr, exit } = await bash('$RUN >&- 2>&-', { format: 'json', warnings: ['w'] })
    expect([stdout, stderr, exit]).toEqual(['', '', 'exit 7'])
  })

  it('does not mind a stderr that nobody reads', async () => {
    const plan: Plan = { format: 'json', wait: 300, warnings: ['one', 'two'] }
    const { stdout, stderr, exit, closed } = await bash('$RUN 2> >(true)', plan)
    expect([JSON.parse(stdout).result, stderr, exit, closed]).toEqual(['The answer.', '', 'exit 7', null])
  })

  it.runIf(existsSync('/dev/full'))(
    'tells on stderr that a full disk took the answer, and where it is kept',
    async () => {
      const { stderr, ...end } = await bash('$RUN >/dev/full', { format: 'json' })
      expect(end).toEqual({ stdout: '', exit: 'exit 7', seen: ['failed'], closed: 'failed' })
      expect(stderr).toBe(
        'error: The answer could not be written to stdout (ENOSPC: no space left on device, write). It is kept: `agent sessions show the-id` shows it.\n',
      )
    },
  )
})

const EVIL = 'clear\u001b[2J clip\u001b]52;c;eA==\u0007 link\u001b]8;;http://x\u001b\\ c1\u009b2J\u0085 back\rover'
const HARMLESS = ['clear␛[2J clip␛]52;c;eA==␇ link␛]8;;http://x␛\\ c1<U+009B>2J<U+0085> back', 'over']

describe('control sequences', () => {
  it('are in no file, even where colours are asked for', async () => {
    const plan: Plan = { format: 'text', text: EVIL, warnings: [EVIL] }
    const { stdout } = await bash('$RUN >out 2>err; cat out err', plan, { FORCE_COLOR: '1' })
    const [first, second] = HARMLESS
    expect(stdout).toBe(`${first}\n${second}\nwarning: ${first}\n${second}\nsession the-id\n`)
  })
})

const SCRIPT = 'script -qec "$RUN" /dev/null </dev/null'

/** What stands on a screen after text of printable characters, CR and LF; wide enough that nothing wraps. */
function screenOf(text: string): string[] {
  return text.split('\n').map((line) => {
    let shown: string[] = []
    for (const part of line.split('\r')) shown = [...part, ...shown.slice([...part].length)]
    return shown.join('').trimEnd()
  })
}

describe.runIf(existsSync('/usr/bin/script'))('a real terminal', () => {
  const chunks = [...EVIL].map(String)
  const plan: Plan = { format: 'text', text: EVIL, chunks, warnings: [EVIL], wait: 500 }
  const [first, second] = HARMLESS

  for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }, { FORCE_COLOR: '0' }]) {
    it(`gets no control sequence at all with ${JSON.stringify(env)}`, async () => {
      const { stdout } = await bash(SCRIPT, plan, env)
      expect(stdout).not.toMatch(/[\0-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]/)
      expect(stdout.includes('- thinking')).toBe(!('TERM' in env))
      expect(screenOf(stdout)).toEqual([
        first,
        second,
        `warning: ${first}`,
        second,
        'session the-id · 0.0s · 1 model call · 1.2k tokens in, 5 out',
        '',
      ])
    })
  }

  it('gets only our own colours otherwise', async () => {
    const { stdout } = await bash(SCRIPT, plan)
    expect(stdout).toContain('\u001b[33mwarning:\u001b[39m')
    expect(stdout.replace(/\u001b\[\d+m/g, '')).not.toMatch(/[\0-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]/)
  })

  it('gets 1 MB whole', async () => {
    const { stdout, exit } = await bash(SCRIPT, { format: 'text', ...LONG })
    expect(exit).toBe('exit 7')
    expect(stdout.replaceAll('\r\n', '\n').startsWith(WHOLE)).toBe(true)
  })

  it('gets exactly the document with json', async () => {
    const { stdout } = await bash(SCRIPT, { format: 'json', text: EVIL, wait: 500 })
    expect(stdout).not.toMatch(/[\0-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]/)
    expect(JSON.parse(stdout).result).toBe(EVIL)
  })

  it('shows progress while json goes into a pipe', async () => {
    const { stdout } = await bash(
      'script -qec "$RUN | cat >doc" /dev/null </dev/null; cat doc',
      {
        format: 'json',
        wait: 500,
      },
      { NO_COLOR: '1' },
    )
    expect(stdout).toContain('- thinking')
    expect(JSON.parse(screenOf(stdout).join('\n')).result).toBe('The answer.')
  })
})
