/** A command line that is wrong: a sentence on stderr, and for a run the result that its format promises. */
import { nothingStarted } from '../run/result.ts'
import { jsonLine } from '../services/output/jsonLines.ts'
import { printable } from '../services/text.ts'
import { FLAGS, type FlagName, flagOf, isCommand, takesValue } from './flags.ts'

/**
 * Says why nothing is started. In the JSON formats stdout of a run is one document whatever becomes of it, so that who
 * reads it needs no second way (contract.md, 3); a command that refuses prints nothing there.
 * @param argv the arguments after the program's name, as far as they can be understood
 * @returns the exit code
 */
export async function refuseUsage(argv: string[], message: string): Promise<number> {
  process.stderr.write(`agent: ${printable(message)}\n`)
  if (promisesResult(argv, process.stdout.isTTY === true)) {
    // A reader that is gone has no need of it.
    process.stdout.on('error', () => {})
    await new Promise<void>((resolve) => {
      process.stdout.once('close', resolve)
      process.stdout.write(`${jsonLine(nothingStarted(message, ''))}\n`, () => resolve())
    })
  }
  return 2
}

/** @returns whether these arguments, wrong as they are, ask for a run whose stdout is JSON */
function promisesResult(argv: string[], stdoutIsTty: boolean): boolean {
  let format: string | null = null
  let first: string | null = null
  let prints = false
  for (let i = 0; i < argv.length && argv[i] !== '--'; i++) {
    const argument = argv[i] ?? ''
    const [, spelled = argument, inline] = /^(--[^=]+)=(.*)$/s.exec(argument) ?? []
    const name: FlagName | null = flagOf(spelled)
    if (name === null && !argument.startsWith('-')) first ??= argument
    if (name === 'print') prints = true
    if (name === 'json') format = 'json'
    const next = argv[i + 1]
    const takes =
      name !== null && takesValue(name) && inline === undefined && next !== undefined && flagOf(next) === null
    if (name === 'output-format') format = inline ?? (takes ? next : format)
    if (takes) i++
  }
  const isRun = prints || first === null || (isCommand(first) && FLAGS.yes.on.some((place) => place === first))
  return isRun && (format === 'text' ? false : format === 'json' || format === 'stream-json' || !stdoutIsTty)
}
