/**
 * The commands that a command runs in its turn, as far as its words tell: behind `env`, in `sh -c "…"`, after
 * `-exec`. For rules that forbid; too many are better there than too few.
 */
import { RESERVED } from './plain.ts'
import { literal, UNKNOWN, type Word } from './words.ts'

export interface Unwrapped {
  /** Commands by their words. */
  commands: Word[][]
  /** Command lines to be parsed in turn. */
  lines: string[]
  /** Why it cannot be told what is run; completes "because …". */
  obstacles: string[]
}

export const SHELLS: ReadonlySet<string> = new Set('sh bash dash zsh ksh mksh ash fish rbash tcsh csh pwsh'.split(' '))

/** Programs and builtins that run what their further words say. */
export const WRAPPERS: ReadonlySet<string> = new Set(
  (
    'env command builtin exec nohup timeout gtimeout nice ionice stdbuf setsid time xargs parallel sudo doas su ' +
    'runuser pkexec chroot unshare nsenter setpriv taskset chrt cpulimit prlimit flock script watch strace ltrace gdb ' +
    'busybox toybox unbuffer expect systemd-run dbus-run-session entr ssh caffeinate arch proot fakeroot firejail ' +
    'bwrap npx bunx pnpx uvx pipx cross-env dotenv direnv eval trap source . coproc'
  ).split(' '),
)

/** Of these a word may be a whole command line. */
const TAKES_LINES: ReadonlySet<string> = new Set(
  'env su runuser script watch flock ssh parallel expect sudo'.split(' '),
)
const RUNNERS = /^(?:(?:npm|pnpm|yarn|bun) (?:exec|x|dlx)|(?:uv|poetry|pipenv|pdm|hatch|rye) run|bundle exec)$/
const EXEC_ACTIONS: ReadonlySet<string> = new Set('-exec -execdir -ok -okdir -x -X --exec --exec-batch'.split(' '))

/** Places where a wrapper's inner command may begin; further on there are only its arguments. */
const MOST_STARTS = 32

/** @param name the command's name without directory  @param words its words, the name first */
export function unwrap(name: string, words: Word[], input: 'inherited' | 'given'): Unwrapped {
  const args = words.slice(1)
  if (SHELLS.has(name)) return shell(name, args, input)
  switch (name) {
    case 'eval':
      return line(args, name)
    case 'trap':
      return line(args.slice(isText(args[0], '--') ? 1 : 0, isText(args[0], '--') ? 2 : 1), name)
    case 'alias':
      return merged(args.map((arg) => line([afterEquals(arg)], name)))
    case 'source':
    case '.':
      return sourced(args[0])
    case 'hash':
    case 'enable':
      return args.some((arg) => arg.kind !== 'literal' || /^-[a-z]*[pf]/.test(arg.value))
        ? obstacle(`${name} can put one program in the place of another`)
        : NOTHING
    case 'xargs':
    case 'parallel':
      return suffixes(name, args.map(placeholder), [UNKNOWN])
    case 'find':
    case 'fd':
    case 'fdfind':
      return actions(args)
    case 'git':
      return git(args)
  }
  // A reserved word as a name is one that the parser did not take for one, as in `! ! git push`.
  if (WRAPPERS.has(name) || RESERVED.has(name)) return suffixes(name, args, [])
  const [sub] = args
  if (sub?.kind === 'literal' && RUNNERS.test(`${name} ${sub.value}`)) return suffixes(name, args.slice(1), [])
  return NOTHING
}

const NOTHING: Unwrapped = { commands: [], lines: [], obstacles: [] }

function obstacle(because: string): Unwrapped {
  return { ...NOTHING, obstacles: [because] }
}

function merged(all: Unwrapped[]): Unwrapped {
  return {
    commands: all.flatMap(({ commands }) => commands),
    lines: all.flatMap(({ lines }) => lines),
    obstacles: all.flatMap(({ obstacles }) => obstacles),
  }
}

function isText(word: Word | undefined, text: string): boolean {
  return word?.kind === 'literal' && word.value === text
}

/** Words that make up one command line, as `eval` joins them. */
function line(args: Word[], name: string): Unwrapped {
  if (args.every((arg) => arg.kind === 'literal')) {
    const text = args.map((arg) => arg.value).join(' ')
    return text === '' || text === '-' ? NOTHING : { ...NOTHING, lines: [text] }
  }
  return obstacle(`${name} runs a computed command line`)
}

function afterEquals(arg: Word): Word {
  if (arg.kind !== 'literal') return arg
  const at = arg.value.indexOf('=')
  return literal(at < 0 ? '' : arg.value.slice(at + 1))
}

function sourced(file: Word | undefined): Unwrapped {
  if (file === undefined) return NOTHING
  if (file.kind !== 'literal' || /^\/(?:dev|proc)\//.test(file.value)) return obstacle('source reads computed commands')
  return NOTHING
}

/** `sh -c "line"`, `sh script`, and `… | sh`, whose commands cannot be seen. */
function shell(name: string, args: Word[], input: 'inherited' | 'given'): Unwrapped {
  let withLine = false
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]
    if (arg?.kind !== 'literal') return obstacle(`${name} runs a computed command line or script`)
    if (!/^[-+]./.test(arg.value)) {
      if (!withLine) {
        if (/^\/(?:dev|proc)\//.test(arg.value)) return obstacle(`${name} reads its commands`)
        // A script's name is looked up on the PATH as well.
        return { ...NOTHING, commands: [args.slice(i)] }
      }
      return { ...NOTHING, lines: [arg.value] }
    }
    if (arg.value === '--version' || arg.value === '--help') return NOTHING
    if (/^-[A-Za-z]*c/.test(arg.value) || arg.value === '--command' || arg.value === '-Command') withLine = true
    if (/^[-+][A-Za-z]*[oO]$/.test(arg.value) || arg.value === '--rcfile' || arg.value === '--init-file') i += 1
  }
  // Without anything to read it ends at once: standard input is closed.
  return input === 'inherited' && !withLine ? NOTHING : obstacle(`${name} reads commands from its standard input`)
}

/** Every end of the words that may be the inner command. `more`: what the wrapper adds behind them. */
function suffixes(name: string, args: Word[], more: Word[]): Unwrapped {
  const found: Unwrapped = { commands: [], lines: [], obstacles: [] }
  /** Whether the word here may be the inner command's name, for all that can be told. */
  let mayStart = true
  let afterOption = false
  for (const [i, arg] of args.entries()) {
    const text = arg.kind === 'computed' ? arg.head : arg.value
    const isOption = text.startsWith('-')
    if (!isOption && !/^\w+=/.test(text)) {
      if (arg.kind === 'literal' || (arg.kind === 'computed' && arg.basename !== null)) {
        if (found.commands.length < MOST_STARTS) found.commands.push([...args.slice(i), ...more])
      }
      if (arg.kind !== 'literal' && mayStart && !(arg.kind === 'computed' && arg.basename !== null))
        found.obstacles.push(`${name} runs a computed command`)
      if (!afterOption && !/^[\d.]+[smhd]?$/.test(text)) mayStart = false
    }
    if (TAKES_LINES.has(name)) {
      const inner = /^(?:-\w*S|--split-string=|-c|--command=)([\s\S]+)$/.exec(text)?.[1] ?? text
      if (arg.kind === 'literal' && /[\s;&|]/.test(inner)) found.lines.push(inner)
      if (arg.kind !== 'literal' && (isOption || afterOption)) found.obstacles.push(`${name} runs a computed command`)
    }
    afterOption = isOption
  }
  return found
}

/** What `xargs -I{}` puts in. */
function placeholder(arg: Word): Word {
  return arg.kind === 'literal' && /[{%@]/.test(arg.value) ? UNKNOWN : arg
}

function actions(args: Word[]): Unwrapped {
  const commands: Word[][] = []
  for (const [i, arg] of args.entries()) {
    if (arg.kind !== 'literal' || !EXEC_ACTIONS.has(arg.value)) continue
    if (commands.length === MOST_STARTS) return obstacle('it runs too many commands')
    const rest = args.slice(i + 1)
    const end = rest.findIndex((word) => isText(word, ';') || isText(word, '+'))
    commands.push((end < 0 ? rest : rest.slice(0, end)).map(placeholder))
  }
  return { ...NOTHING, commands: commands.filter((words) => words.length > 0) }
}

/** Aliases by `-c`, and the sub-commands that run others. */
function git(args: Word[]): Unwrapped {
  const found: Unwrapped[] = []
  for (const [i, arg] of args.entries()) {
    if (found.length > MOST_STARTS) return obstacle('git runs too many commands')
    const next = args[i + 1]
    if (isText(arg, '-c') || isText(arg, '--config-env')) {
      if (next?.kind !== 'literal') found.push(obstacle('git gets a computed setting'))
      else {
        const [, key = '', value = ''] = /^([^=]*)=([\s\S]*)$/.exec(next.value) ?? []
        if (/^alias\./i.test(key)) found.push({ ...NOTHING, lines: [value.replace(/^!/, ''), `git ${value}`] })
      }
    }
    if (isText(arg, 'run') || isText(arg, 'foreach'))
      found.push({ ...suffixes('git', args.slice(i + 1), []), obstacles: [] }, strings(args.slice(i + 1)))
    if ((isText(arg, '-x') || isText(arg, '--exec')) && next !== undefined) found.push(strings([next]))
    if (arg.kind === 'literal' && arg.value.startsWith('--exec=')) found.push(strings([literal(arg.value.slice(7))]))
  }
  return merged(found)
}

function strings(args: Word[]): Unwrapped {
  return {
    ...NOTHING,
    lines: args.flatMap((arg) => (arg.kind === 'literal' && /\s/.test(arg.value) ? [arg.value] : [])),
  }
}
