/** What is allowed does nothing but what the rule says: every allowed command is run and watched. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { GROUPS } from './commandTable.ts'
import { judgeWith } from './support.ts'
import { createTracer, type Tracer } from './tracer.ts'

let tracer: Tracer
beforeAll(() => {
  tracer = createTracer()
})
afterAll(() => tracer.remove())

/** What a rule begins with, said anew: not by the code under test. */
function beginning(rule: string): string {
  const inside = /\((.*)\)$/.exec(rule)?.[1] ?? ''
  return (inside.split('*')[0] ?? '')
    .replace(/:$/, '')
    .replaceAll(/'|^\.\//g, '')
    .trim()
    .replace(/\s+/g, ' ')
}

function isWithin(rules: string[], argv: string[]): boolean {
  return rules.some((rule) => argv.join(' ').startsWith(beginning(rule)))
}

/** Effects that a rule of the table names in full. */
const MEANT = new Set(['sed -i s/a/b/ keep.txt'])

describe('every allowed command of the table, run', () => {
  const allowed = GROUPS.filter(({ deny, allow }) => !deny?.length && !allow?.includes('Bash')).flatMap(
    ({ allow = [], cases }) =>
      cases.filter(([, decision]) => decision === 'allow').map(([command]) => ({ command, allow })),
  )

  test('there are more than ninety', () => expect(allowed.length).toBeGreaterThan(90))

  test.each(allowed)('$command', async ({ command, allow }) => {
    const { ran, changed } = await tracer.run(command)
    expect(ran.filter((argv) => !isWithin(allow, argv))).toEqual([])
    if (!MEANT.has(command)) expect(changed).toEqual([])
  })

  test('the tracer sees what others would do', async () => {
    const { ran, changed } = await tracer.run(
      'git log | xargs touch; echo x > made; find . -name a.txt -exec rm {} \\;',
    )
    expect(ran.map(([name]) => name).sort()).toEqual(['find', 'git', 'rm', 'touch', 'xargs'])
    expect(changed).toEqual(['./scratch/made'])
    await tracer.run('PATH=/bin:/usr/bin rm made')
  })
})

const PIECES = [
  ...[
    'git',
    'log',
    'ls',
    'echo',
    'sort',
    'find',
    'cat',
    'rm',
    'touch',
    'p',
    'keep.txt',
    'a.txt',
    '.',
    '-c',
    '-o',
    '-u',
  ],
  ...['--output=p', '-delete', '-exec', '{}', '+', '\\;', 'env', 'xargs', 'eval', 'sh', 'bash', 'command', 'exec'],
  ...[';', '&&', '||', '|', '&', '|&', '\n', '(', ')', '{', '}', '!', '#', '~', '*', '?', '[', ']', '=', 'a=b', ','],
  ...['$', '$X', '${X}', '$(', '`', '"', "'", "$'", '\\', '\\\n', '<', '>', '>>', '>|', '<<', '<<<', '<(', '>('],
  ...['2>&1', '>/dev/null', '2>', '&>', '<<EOF\n', '\nEOF\n', '((', '))', '[[', ']]', '..', 'x', '1', '-', '--', '/'],
  ...['if', 'then', 'fi', 'for', 'in', 'do', 'done', 'case', 'esac', 'function', '()', 'time', 'trap', 'alias'],
  ...['\t', '\r', '\0', '\u00a0', '\u2003', '\u200b', '\x1b[2J', 'ä', '日本', '😀', '\ud800', '%', '^', '@', '+', ':'],
]

const SHELLISH = fc
  .array(fc.tuple(fc.constantFrom(...PIECES), fc.constantFrom('', ' ', ' ')), { minLength: 1, maxLength: 14 })
  .map((pieces) => pieces.map(([piece, space]) => piece + space).join(''))

/** One that is allowed, with something put into it. */
const NEARLY = fc
  .tuple(
    fc.constantFrom('git log ', 'echo a b ', 'sort keep.txt ', 'find . -name a ', 'ls ', 'git log | sort '),
    fc.array(fc.constantFrom(...PIECES), { minLength: 0, maxLength: 4 }),
    fc.nat(20),
  )
  .map(([command, pieces, at]) => command.slice(0, at) + pieces.join(' ') + command.slice(at))

const STRINGS = fc.oneof(SHELLISH, NEARLY)
const ALLOW = ['Bash(git log:*)', 'Bash(echo:*)', 'Bash(sort:*)', 'Bash(find:*)', 'Bash(ls:*)', 'Bash(cat:*)']

/** Runs many, four at a time. @returns those of whose programs `isFine` says no */
async function runAll(commands: string[], isFine: (argv: string[]) => boolean): Promise<string[]> {
  const wrong: string[] = []
  const left = commands.filter((command) => !command.includes('\0'))
  const work = async (): Promise<void> => {
    for (let command = left.pop(); command !== undefined; command = left.pop()) {
      const ran = await tracer.ran(command)
      const odd = ran.filter((argv) => !isFine(argv))
      if (odd.length > 0) wrong.push(`${JSON.stringify(command)} ran ${JSON.stringify(odd)}`)
    }
  }
  await Promise.all([work(), work(), work(), work()])
  return wrong
}

describe('20,000 strings of shell pieces', () => {
  test('never a crash, and what is allowed has no effect beyond the rule', async () => {
    const judge = await judgeWith({ allow: ALLOW })
    const allowed = new Set<string>()
    await fc.assert(
      fc.asyncProperty(STRINGS, async (command) => {
        const { kind } = await judge.bash(command)
        expect(['allow', 'ask']).toContain(kind)
        if (kind === 'allow') allowed.add(command)
      }),
      { numRuns: 20_000 },
    )
    expect(allowed.size).toBeGreaterThan(50)
    const before = tracer.snapshot()
    const wrong = await runAll([...allowed], (argv) => isWithin(ALLOW, argv))
    expect(wrong).toEqual([])
    expect(tracer.snapshot()).toEqual(before)
  }, 120_000)

  test('what no deny rule forbids does not run what they name', async () => {
    const judge = await judgeWith({ allow: ['Bash'], deny: ['Bash(touch:*)', 'Bash(rm:*)'] })
    const allowed = new Set<string>()
    await fc.assert(
      fc.asyncProperty(STRINGS, async (command) => {
        const { kind } = await judge.bash(command)
        expect(['allow', 'deny']).toContain(kind)
        // Only what names them at all can run them.
        if (kind === 'allow' && /touch|rm/.test(command) && allowed.size < 2_000) allowed.add(command)
      }),
      { numRuns: 20_000 },
    )
    expect(allowed.size).toBeGreaterThan(50)
    expect(await runAll([...allowed], ([name = '']) => name !== 'touch' && name !== 'rm')).toEqual([])
  }, 120_000)
})
