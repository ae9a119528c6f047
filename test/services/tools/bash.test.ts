import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { bashTool, endAllGroups } from '../../../src/services/tools/bash.ts'
import { type Shell, shell } from './bashSupport.ts'

let s: Shell
beforeEach(() => {
  s = shell()
})
afterEach(() => {
  vi.unstubAllEnvs()
  s.remove()
})
afterAll(endAllGroups)

const ok = (content: string) => ({ kind: 'ok', content })
const error = (content: string) => ({ kind: 'error', content })

describe('output', () => {
  test('standard output and standard error come in the order in which they were written', async () => {
    const command = 'for n in 1 2 3 4 5 6 7 8 9; do echo out$n; echo err$n >&2; done'
    const expected = [1, 2, 3, 4, 5, 6, 7, 8, 9].flatMap((n) => [`out${n}`, `err${n}`]).join('\n')
    expect(await s.bash(command)).toEqual(ok(expected))
  })

  test('a command may open /dev/stdout and /dev/stderr, which Node’s own pipes refuse', async () => {
    const command = 'echo a; echo b > /dev/stderr; echo c | tee /dev/stderr; echo d > /dev/stdout; echo e'
    expect(await s.bash(command)).toEqual(ok('a\nb\nc\nc\nd\ne'))
  })

  test('no output is said in words', async () => {
    expect(await s.bash('true')).toEqual(ok('(no output)'))
  })

  test('characters written byte by byte with pauses arrive whole', async () => {
    writeFileSync(
      join(s.dir, 'slow.py'),
      'import sys,time\nfor b in "é日😀".encode():\n  sys.stdout.buffer.write(bytes([b]));sys.stdout.flush();time.sleep(0.02)\n',
    )
    expect(await s.bash('python3 slow.py')).toEqual(ok('é日😀'))
  })

  test('characters across the borders of large chunks arrive whole', async () => {
    writeFileSync(join(s.dir, 'text'), `x${'日'.repeat(70_000)}`)
    expect(await s.bash('cat text')).toEqual(ok(`x${'日'.repeat(70_000)}`))
  })

  test('bytes that are no UTF-8 become replacement characters', async () => {
    expect(await s.bash("printf 'a\\xffb'")).toEqual(ok('a�b'))
  })

  test('colours, titles, progress bars and overstrikes become plain text', async () => {
    const command = "printf '\\e]0;title\\a\\e[1;31mred\\e[0m\\n10%%\\r55%%\\r100%%\\nb\\bbo\\bol\\bld\\n'"
    expect(await s.bash(command)).toEqual(ok('red\n100%\nbold'))
  })

  test('what a process substitution says last is not lost', async () => {
    expect(await s.bash('exec > >(sleep 0.03; cat) 2>&1; echo late')).toEqual(ok('late'))
  })
})

describe('the end of a command', () => {
  test.each([
    ['exit 3', '[exit code 3]'],
    ['exit 300', '[exit code 44]'],
    ['kill -9 $$', '[killed by SIGKILL, exit code 137]'],
    ['kill -TERM $$', '[killed by SIGTERM, exit code 143]'],
    ['sh -c "kill -SEGV $$"', '[killed by SIGSEGV, exit code 139]'],
    ["(sh -c 'kill -9 $$'; exit $?) 2>/dev/null; exit $?", '[exit code 137: 128 + SIGKILL]'],
    ['trap "echo bye" EXIT; exec 3>&1; exit 2', 'bye\n[exit code 2]'],
    ['set -e; false; echo never', '[exit code 1]'],
    ['exec false', '[exit code 1]'],
    ['git log --no-such-option >/dev/null 2>&1; exit 129', '[exit code 129]'],
  ])('%s is told as it was', async (command, expected) => {
    expect(await s.bash(command)).toEqual(error(expected))
  })

  test('a program that runs out of memory does not look like success', async () => {
    const result = await s.bash('ulimit -v 1000; python3 -c "x=[0]*10**9"')
    expect([result.kind, /\[exit code \d+|\[killed by/.test(String(result.content))]).toEqual(['error', true])
  })

  test('a syntax error is told with its exit code', async () => {
    const { kind, content } = await s.bash('if')
    const lines = String(content).split('\n')
    expect([kind, lines[0]?.includes('syntax error'), lines.at(-1)]).toEqual(['error', true, '[exit code 2]'])
  })

  test.each(['grep x /dev/null', 'echo a | grep b', 'diff /dev/null $BASH', '[ 1 = 2 ]', 'true && test 1 = 2'])(
    'exit code 1 of %s is an answer, not an error',
    async (command) => {
      const result = await s.bash(command)
      expect([result.kind, String(result.content).endsWith('[exit code 1]')]).toEqual(['ok', true])
    },
  )

  test('exit code 2 of grep is an error', async () => {
    expect(await s.bash('grep x /nowhere')).toEqual(error('grep: /nowhere: No such file or directory\n[exit code 2]'))
  })
})

describe('the command', () => {
  test.each([
    ['$& $1 `x` \\n %s', '$& $1 `x` \\n %s'],
    ["it's", "it's"],
    ['-n', '-n'],
    ['日本 😀', '日本 😀'],
  ])('reaches the shell byte for byte: %s', async (text, expected) => {
    expect(await s.bash(`cat <<'END'\n${text}\nEND`)).toEqual(ok(expected))
  })

  test('may begin with a dash', async () => {
    expect(await s.bash('-x y')).toEqual(error('bash: line 1: -x: command not found\n[exit code 127]'))
  })

  test('may be longer than one argument can be', async () => {
    const lines = Array.from({ length: 20_000 }, (_, n) => `line ${n} $& 'quoted' "double"`).join('\n')
    const command = `cat > out <<'END'\n${lines}\nEND\nls /proc/self/fd | wc -l; exit 7`
    const plain = await s.bash('ls /proc/self/fd | wc -l')
    expect(await s.bash(command)).toEqual(error(`${plain.content}\n[exit code 7]`))
    expect(readFileSync(join(s.dir, 'out'), 'utf8')).toBe(`${lines}\n`)
  })

  test('with a NUL character is refused', async () => {
    expect(await s.bash('echo a\0b')).toEqual(error('The command contains a NUL character. Leave it out.'))
  })

  test('finds no input: cat sees the end at once and read fails', async () => {
    expect(await s.bash('cat; read x; echo "$? [$x]"')).toEqual(ok('1 []'))
  })

  test('has no terminal to ask at', async () => {
    expect(await s.bash('(echo > /dev/tty) 2>/dev/null || echo none')).toEqual(ok('none'))
  })

  test('finds no editor and no pager that waits', async () => {
    vi.stubEnv('EDITOR', 'sleep 100; true')
    vi.stubEnv('PAGER', 'sleep 100; cat')
    const setUp = 'git init -q . && git config user.email a@b && git config user.name n && echo 1 > f && git add f'
    const result = await s.bash(`${setUp} && git -c core.pager= status -s && git --paginate log; git commit`)
    expect(result.kind).toBe('error')
    expect(result.content).toContain('Aborting commit due to empty commit message')
  })

  test('gets the environment it is given, and nothing of the agent’s own', async () => {
    vi.stubEnv('SECRET_OF_THE_AGENT', 'sk-ant-test-SECRET')
    const own = shell({ childEnv: { PATH: process.env.PATH, HOME: '/home/me' } })
    const { content } = await own.bash('env | sort')
    own.remove()
    const names = String(content)
      .split('\n')
      .map((line) => line.split('=')[0])
    expect(names).toEqual(
      [
        'AGENT_RUN_MARK',
        'EDITOR',
        'GH_PAGER',
        'GIT_EDITOR',
        'GIT_PAGER',
        'GIT_SEQUENCE_EDITOR',
        'GIT_TERMINAL_PROMPT',
      ].concat(['HOME', 'MANPAGER', 'PAGER', 'PATH', 'PWD', 'SHLVL', 'SSH_ASKPASS_REQUIRE', 'TERM', 'VISUAL', '_']),
    )
    expect(content).not.toContain('SECRET')
  })

  test('holds no descriptor but the three of every program, whatever runs beside it', async () => {
    const bare = spawnSync('ls', ['/proc/self/fd'], { encoding: 'utf8' }).stdout.trim()
    const beside = s.bash('sleep 0.3')
    expect(await s.bash('ls /proc/self/fd')).toEqual(ok(bare))
    await beside
  })
})

describe('where it cannot run', () => {
  test('a working directory that is gone is named', async () => {
    const gone = join(s.dir, 'gone')
    mkdirSync(gone)
    s.env.cwd = gone
    expect(await s.bash('rm -r ../gone; echo done')).toEqual(ok('done'))
    expect(await s.bash('echo x')).toEqual(
      error(`The working directory ${gone} does not exist any more. Make it again first.`),
    )
  })

  test('a machine without bash says so', async () => {
    s.env.childEnv = { PATH: s.dir }
    expect(await s.bash('echo x')).toEqual(
      error(
        `bash was not found on the PATH, which is ${JSON.stringify(s.dir)}, so no command can run. ` +
          "Tell the user to start the agent with a PATH that leads to bash and the system's programs, such as /usr/local/bin:/usr/bin:/bin, or to install them.",
      ),
    )
  })

  test('an environment that is too large says so', async () => {
    const huge = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`V${n}`, 'x'.repeat(100_000)]))
    s.env.childEnv = { ...process.env, ...huge }
    expect(await s.bash('echo x')).toEqual(
      error('The environment is too large to start a program. Tell the user to make it smaller.'),
    )
  })

  test('a temporary directory that is removed while commands run does no harm', async () => {
    const temporary = join(s.dir, 'tmp')
    mkdirSync(temporary)
    vi.stubEnv('TMPDIR', temporary)
    await endAllGroups()
    expect(await s.bash('echo one')).toEqual(ok('one'))
    rmSync(temporary, { recursive: true })
    expect(await s.bash('echo two')).toEqual(ok('two'))
  })
})

test('permissions are asked for the command, and calls need not wait for each other', () => {
  expect(bashTool.effect({ command: 'ls' }, '/')).toEqual({ kind: 'execute', command: 'ls' })
  expect(bashTool.plan).toBeUndefined()
})

test('a timeout must be a positive whole number', () => {
  const accepted = [1, 600_000, 9_999_999, undefined].map(
    (timeout) => bashTool.input.safeParse({ command: 'x', timeout }).success,
  )
  const refused = [0, -1, 1.5, '5'].map((timeout) => bashTool.input.safeParse({ command: 'x', timeout }).success)
  expect([accepted, refused]).toEqual([
    [true, true, true, true],
    [false, false, false, false],
  ])
})
