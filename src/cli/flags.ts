/** Every flag there is, once: parsing, checking and the help read this table. */

export interface Flag {
  short?: string
  /** What stands for the value in the help; absent for a switch. */
  value?: string
  /** Commands that take it; `run` is the run of a prompt, `fork -p` that of one in a fork. */
  on: readonly string[]
  help: string
}

const FORMATS = 'text|json|stream-json'

/** Whatever runs a prompt: `agent resume` does one that is there. */
const RUN = ['run', 'fork -p', 'resume'] as const
/** Whatever looks at sessions: where they are kept is a setting. */
const LOOKING = ['sessions', 'graph', 'trace', 'replay', 'fork', 'inspect'] as const

export const FLAGS = {
  cwd: { short: 'C', value: '<dir>', on: ['*'], help: 'work in this directory' },
  print: { short: 'p', value: '<prompt>', on: RUN, help: 'run this prompt without a conversation; - reads stdin' },
  yes: { short: 'y', on: RUN, help: 'approve every tool call that would ask; deny rules still hold' },
  sandbox: { on: RUN, help: 'shell commands: all but this directory read-only, no network' },
  continue: { short: 'c', on: ['run'], help: 'go on with the last session of this directory' },
  resume: { short: 'r', value: '<id>', on: ['run'], help: 'go on with this session, from anywhere' },
  'fork-session': { on: ['run'], help: 'with the two above: as a new session, the old one stays as it is' },
  'output-format': { value: `<${FORMATS}>`, on: RUN, help: 'default: text at a terminal, json elsewhere' },
  json: { on: ['*'], help: 'the same as --output-format json' },
  model: { value: '<name>', on: RUN, help: 'model to call' },
  'max-turns': { value: '<n>', on: RUN, help: 'model calls of one prompt at most (default 250)' },
  'append-system-prompt': { value: '<text>', on: RUN, help: 'add this to the system prompt' },
  settings: {
    value: '<file>',
    on: [...RUN, 'config', 'memory', ...LOOKING],
    help: 'settings that weigh more than all others',
  },
  record: { value: '<file>', on: RUN, help: 'keep the replies; --model replay:<file> plays them' },
  step: { on: RUN, help: 'stop before each service; commands come on stdin (h lists them)' },
  at: { value: '<k>', on: ['replay', 'fork', 'fork -p'], help: 'the transition, numbered as by agent trace' },
  format: { value: '<format>', on: ['graph'], help: 'mermaid (default), dot, svg or json' },
  session: { value: '<id>', on: ['graph'], help: 'mark what this session visited, and how often' },
  'no-open': { on: ['inspect'], help: 'print the address, open no browser' },
  list: { on: ['trust'], help: 'show the directories that are trusted' },
  remove: { on: ['trust'], help: 'trust the directory no longer' },
  debug: { on: ['*'], help: 'diagnostics on stderr' },
  all: { on: ['sessions'], help: 'sessions of every directory' },
  version: { short: 'v', on: ['*'], help: 'print the version' },
  help: { short: 'h', on: ['*'], help: 'print this help' },
} as const satisfies Record<string, Flag>

export type FlagName = keyof typeof FLAGS

export const COMMANDS: Record<string, string> = {
  'resume <id>': 'carry on with the turn that a session was left in',
  'sessions [show|export|rm <id>]': 'list, show, export or remove sessions (--all, --json)',
  config: 'show each effective setting and where it comes from (--json)',
  'trust [<dir>]': 'let the settings of a directory count in full (--list, --remove)',
  skills: 'list skills, where they come from, what is wrong (--json)',
  'memory [show|rm|consolidate]': 'list, show, remove or merge the long-term memories (--json)',
  graph: 'draw the statechart (--format, --session)',
  'trace <id>': 'list the transitions of a session (--json)',
  'replay <id>': 'show state and conversation after one (--at, --json)',
  'fork <id>': 'go on from one in a new session (--at, -p, --json)',
  'inspect [<id>]': 'look at a session in the browser, also while it runs',
  demo: 'mend a small broken project with a recorded model; no key needed',
}

/** @returns the flag that an argument spells exactly (`-p`, `--print`), without its value. */
export function flagOf(argument: string): FlagName | null {
  for (const name of Object.keys(FLAGS) as FlagName[]) {
    const flag: Flag = FLAGS[name]
    if (argument === `--${name}` || (flag.short !== undefined && argument === `-${flag.short}`)) return name
  }
  return null
}

/** @returns whether there is a command of that name. */
export function isCommand(name: string): boolean {
  return Object.keys(COMMANDS).some((line) => line.split(' ')[0] === name)
}

/** @returns whether the flag takes a value. */
export function takesValue(name: FlagName): boolean {
  return 'value' in FLAGS[name]
}

/** @returns the help text, at most 100 columns wide. */
export function helpText(): string {
  const rows = (Object.entries(FLAGS) as Array<[string, Flag]>).map(([name, flag]): [string, string] => [
    `${flag.short ? `-${flag.short}, ` : '    '}--${name}${flag.value && flag.value.length < 12 ? ` ${flag.value}` : ''}`,
    flag.value && flag.value.length >= 12 ? `${flag.value.slice(1, -1)}; ${flag.help}` : flag.help,
  ])
  return [
    'Usage',
    '  agent [-C <dir>]                        a conversation at a terminal; -c, -r <id>: go on with one',
    '  agent [-C <dir>] [--yes] -p "<prompt>"  one prompt, without a conversation',
    '  agent <command>',
    '',
    'Options',
    ...rows.map(([left, right]) => `  ${left.padEnd(30)} ${right}`),
    '',
    'Commands',
    ...Object.entries(COMMANDS).map(([name, help]) => `  ${name.padEnd(30)} ${help}`),
    '',
    'Exit codes: 0 the run ended, 1 it failed, 2 nothing was started,',
    '129/130/143 stopped by SIGHUP/SIGINT/SIGTERM.',
  ].join('\n')
}
