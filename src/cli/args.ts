/** From the arguments to what is asked for. No defaults of a run are decided here, only what was said. */
import { pathToFileURL } from 'node:url'
import meow from 'meow'
import type { CommandFlags, CommandRequest } from '../commands/request.ts'
import type { CommonOptions, OutputFormat, PromptSource, RunRequest, SessionChoice } from '../run/request.ts'
import { FLAGS, type Flag, type FlagName, helpText, isCommand } from './flags.ts'
import { camel, quote, type Split, splitPrompt, usage } from './splitPrompt.ts'

export type Asked =
  | { kind: 'help' }
  | { kind: 'version' }
  | { kind: 'usage'; message: string }
  | { kind: 'run'; common: CommonOptions; run: RunRequest }
  | ({ kind: 'command' } & CommandRequest)
  | { kind: 'forkRun'; common: CommonOptions; run: RunRequest }

/** @param argv the arguments after the program's name */
export function parseArgs(argv: string[]): Asked {
  const split = splitPrompt(argv)
  if (split.kind === 'usage') return split
  const { input, flags } = meow(helpText(), {
    importMeta: { url: pathToFileURL(__filename).href } as ImportMeta,
    pkg: { name: 'stepwright', version: __VERSION__, bin: { agent: 'dist/cli.js' } },
    argv: split.rest,
    autoHelp: false,
    autoVersion: false,
    description: false,
    inferType: false,
    flags: MEOW_FLAGS,
  })
  const said = flags as Partial<Record<string, string | boolean>>
  if (said.help === true || isWord('help', input, split)) return { kind: 'help' }
  if (said.version === true || isWord('version', input, split)) return { kind: 'version' }
  return assemble(input.map(String), said, split)
}

/** `agent help`, `agent help sessions`, `agent version`, as many other programs have it. */
function isWord(word: 'help' | 'version', [first, ...others]: string[], { print }: Split): boolean {
  const isWhole = word === 'help' ? others.every(isCommand) : others.length === 0
  return print.kind === 'absent' && first === word && isWhole
}

const MEOW_FLAGS = Object.fromEntries(
  (Object.entries(FLAGS) as Array<[FlagName, Flag]>)
    .filter(([name]) => name !== 'print')
    .map(([name, flag]) => [
      camel(name),
      {
        type: flag.value === undefined ? ('boolean' as const) : ('string' as const),
        ...(flag.short && { shortFlag: flag.short }),
      },
    ]),
)

type Said = Partial<Record<string, string | boolean>>

function assemble(input: string[], said: Said, { print }: Split): Asked {
  const format = formatOf(said)
  if (format === undefined)
    return usage(`--output-format is text, json or stream-json, not ${quote(text(said.outputFormat) ?? '')}.`)
  if (said.json === true && format !== 'json')
    return usage(`--json and --output-format ${format} exclude each other; give one of them.`)
  const common: CommonOptions = {
    cwd: text(said.cwd),
    format,
    settings: text(said.settings),
    debug: said.debug === true,
  }
  const name = input[0] ?? null
  if (name === 'fork' && (print.kind === 'text' || (print.kind === 'alone' && said.at !== undefined)))
    return assembleForkRun(input.slice(1), said, print, common)
  // After a -p that stands alone the first argument is the prompt, whatever it is.
  if (name === 'resume' && print.kind !== 'alone') return assembleResume(input.slice(1), said, print, common)
  if (print.kind === 'absent' && name !== null) return assembleCommand(name, input.slice(1), said, common)
  const misplaced = misplacedFlag(said, 'run')
  if (misplaced !== null) return usage(misplaced)
  return assembleRun(input, said, print, common)
}

function assembleCommand(name: string, input: string[], said: Said, common: CommonOptions): Asked {
  if (!isCommand(name))
    return usage(
      `Unknown command ${quote(name)}. agent --help lists them; to run it as a prompt: agent -p ${quote(name)}.`,
    )
  const misplaced = misplacedFlag(said, name)
  if (misplaced !== null) return usage(misplaced)
  const flags: CommandFlags = {
    all: said.all === true,
    at: text(said.at),
    graphFormat: text(said.format),
    session: text(said.session),
    noOpen: said.noOpen === true,
    list: said.list === true,
    remove: said.remove === true,
  }
  return { kind: 'command', common, name, input, flags }
}

/** `agent fork <id> -p "<prompt>"`: a run whose session is the fork. */
function assembleForkRun([id = '', extra]: string[], said: Said, print: Split['print'], common: CommonOptions): Asked {
  const misplaced = misplacedFlag(said, 'fork -p')
  if (misplaced !== null) return usage(misplaced)
  if (extra !== undefined) return usage(`Unexpected argument ${quote(extra)}.`)
  const run = assembleRun([], said, print, common)
  if (run.kind !== 'run') return run
  return { kind: 'forkRun', common, run: { ...run.run, session: { kind: 'fork', id, at: text(said.at) } } }
}

/** `agent resume <id>`: the run of a session that goes on, without a prompt where none is given. */
function assembleResume([id = '', ...rest]: string[], said: Said, print: Split['print'], common: CommonOptions): Asked {
  const misplaced = misplacedFlag(said, 'resume')
  if (misplaced !== null) return usage(misplaced)
  if (id === '') return usage('resume needs a session id; agent sessions --all lists them.')
  const run = assembleRun(rest, said, print, common)
  if (run.kind !== 'run') return run
  if (rest.length > 0) return usage(`Unexpected argument ${quote(rest[0] ?? '')}. To say it: agent resume <id> -p "…".`)
  return { kind: 'run', common, run: { ...run.run, session: { kind: 'resume', id, fork: false }, carriesOn: true } }
}

function assembleRun(input: string[], said: Said, print: Split['print'], common: CommonOptions): Asked {
  const prompt = promptOf(print, input)
  if (typeof prompt === 'string') return usage(prompt)
  const session = sessionOf(said)
  if (typeof session === 'string') return usage(session)
  const maxTurns = said.maxTurns === undefined ? null : Number(said.maxTurns)
  if (maxTurns !== null && !(Number.isSafeInteger(maxTurns) && maxTurns > 0 && /^\d+$/.test(String(said.maxTurns)))) {
    return usage(`--max-turns is a whole number above 0, not ${quote(String(said.maxTurns))}.`)
  }
  if (said.step === true && prompt.kind === 'stdin')
    return usage('--step reads its commands from stdin, so give the prompt as an argument: --step -p "<prompt>".')
  if (said.model !== undefined && String(said.model).trim() === '') return usage('--model needs the name of a model.')
  return {
    kind: 'run',
    common,
    run: {
      prompt,
      session,
      yes: said.yes === true,
      model: text(said.model),
      maxTurns,
      appendSystemPrompt: text(said.appendSystemPrompt),
      record: text(said.record),
      step: said.step === true,
      sandbox: said.sandbox === true,
    },
  }
}

function promptOf(print: Split['print'], input: string[]): PromptSource | string {
  const extra = print.kind === 'text' ? input : input.slice(1)
  if (extra.length > 0)
    return `Unexpected argument ${quote(extra[0] ?? '')} beside the prompt; put the whole prompt in quotes.`
  if (print.kind === 'absent') return { kind: 'none' }
  const given = print.kind === 'text' ? print.text : input[0]
  if (given === undefined || given === '-') return { kind: 'stdin' }
  return { kind: 'argument', text: given }
}

function sessionOf(said: Said): SessionChoice | string {
  const fork = said.forkSession === true
  const id = text(said.resume)
  if (said.continue === true && id !== null) return '--continue and --resume exclude each other; give one of them.'
  if (said.continue === true) return { kind: 'continue', fork }
  if (id !== null)
    return id === '' ? '--resume needs a session id; agent sessions --all lists them.' : { kind: 'resume', id, fork }
  return fork ? '--fork-session goes with --continue or --resume.' : { kind: 'new' }
}

function formatOf(said: Said): OutputFormat | null | undefined {
  const format = said.outputFormat
  if (format === undefined) return said.json === true ? 'json' : null
  if (format !== 'text' && format !== 'json' && format !== 'stream-json') return undefined
  return format
}

/** @returns a sentence about the first flag that means nothing there; null where each means something */
function misplacedFlag(said: Said, command: string): string | null {
  for (const [name, flag] of Object.entries(FLAGS) as Array<[string, Flag]>) {
    const value = said[camel(name)]
    if (value === undefined || value === false) continue
    if (flag.on.includes('*') || flag.on.includes(command)) continue
    if (flag.on.includes(`${command} -p`))
      return `--${name} means nothing to agent ${command} without -p "<prompt>": no prompt is run.`
    const owners = flag.on.filter((one) => one !== 'run' && !one.includes(' ')).map((one) => `agent ${one}`)
    const place = flag.on.includes('run') ? 'a run: agent -p "<prompt>"' : owners.join(' and ')
    const here = command === 'run' ? 'a run' : `agent ${command.replace(/ -p$/, '')}`
    return `--${name} does not belong to ${here}, but to ${place}.`
  }
  return null
}

function text(value: string | boolean | undefined): string | null {
  return typeof value === 'string' ? value : null
}
