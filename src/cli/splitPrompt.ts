/** The first look at the arguments, before any parser's: the prompt is taken out, flags get their values. */
import { FLAGS, type Flag, type FlagName, flagOf, takesValue } from './flags.ts'

/** The arguments without the prompt. */
export interface Split {
  kind: 'split'
  /** `alone`: -p was given without a prompt after it. */
  print: { kind: 'absent' } | { kind: 'alone' } | { kind: 'text'; text: string }
  rest: string[]
}

/** Where the value of a flag is to be had, for those who left it out. */
const SEE: Partial<Record<FlagName, string>> = {
  resume: ' agent sessions --all lists the ids; --continue goes on with the last one.',
}

/**
 * Takes `-p` and its prompt out before any parser sees them, since a prompt may look like anything (contract.md, 2),
 * and joins the other flags with their values, so that a value may begin with a dash.
 */
export function splitPrompt(argv: string[]): Split | { kind: 'usage'; message: string } {
  const rest: string[] = []
  const seen = new Set<string>()
  let print: Split['print'] = { kind: 'absent' }
  for (let i = 0; i < argv.length; i++) {
    const argument = argv[i] ?? ''
    if (argument === '--') return { kind: 'split', print, rest: [...rest, ...argv.slice(i)] }
    const [spelled, inline] = argument.startsWith('--') ? cut(argument) : [argument, null]
    const name = flagOf(spelled)
    if (name === null) {
      if (argument.startsWith('-') && argument !== '-')
        return usage(`Unknown flag ${quote(argument)}. See agent --help.`)
      rest.push(argument)
      continue
    }
    if (seen.has(name)) return usage(`--${name} was given twice; give it once.`)
    seen.add(name)
    const next = argv[i + 1]
    if (name === 'print') {
      if (inline !== null) print = { kind: 'text', text: inline }
      else if (next === undefined || flagOf(next) !== null) print = { kind: 'alone' }
      else print = { kind: 'text', text: argv[++i] ?? '' }
    } else if (!takesValue(name)) {
      if (inline !== null) return usage(`--${name} takes no value, but was given ${quote(inline)}.`)
      // Spelled so that no parser takes `--no-` for the negation of another flag.
      rest.push(`--${camel(name)}`)
    } else if (inline !== null) rest.push(`--${name}=${inline}`)
    else if (next === undefined || flagOf(next) !== null)
      return usage(`--${name} needs a value: --${name} ${placeholderOf(name)}.${SEE[name] ?? ''}`)
    else rest.push(`--${name}=${argv[++i] ?? ''}`)
  }
  return { kind: 'split', print, rest }
}

function cut(argument: string): [string, string | null] {
  const at = argument.indexOf('=')
  return at < 0 ? [argument, null] : [argument.slice(0, at), argument.slice(at + 1)]
}

function placeholderOf(name: FlagName): string {
  return (FLAGS[name] as Flag).value ?? ''
}

/** A wrong command line. @param message a sentence that names the culprit */
export function usage(message: string): { kind: 'usage'; message: string } {
  return { kind: 'usage', message }
}

/** @returns what a user typed, as a message shows it */
export function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
}

/** @returns a flag as the parser spells it: `maxTurns` */
export function camel(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}
