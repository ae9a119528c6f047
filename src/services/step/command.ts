/** What a person can say at a stop. */

export type StepCommand =
  | { kind: 'next' }
  | { kind: 'continue' }
  /** Until transition `k` is taken. */
  | { kind: 'go'; k: number }
  | { kind: 'print'; as: 'text' | 'json' }
  | { kind: 'quit' }
  | { kind: 'help' }
  | { kind: 'unknown'; message: string }

export const HELP = [
  'n  next: run this service, then stop again (an empty line does the same)',
  'c  continue: run to the end without stopping',
  'g <k>  go on until transition k is taken',
  'p  print what will be sent to the model; p json prints it as JSON',
  'q  quit: the session is saved and can be resumed',
]

/** @param line as typed */
export function parseCommand(line: string): StepCommand {
  const [word = '', argument, extra] = line.trim().split(/\s+/)
  const unknown = (message: string): StepCommand => ({ kind: 'unknown', message })
  if (extra !== undefined) return unknown(`${JSON.stringify(line.trim())} is no command; h lists them.`)
  switch (word.toLowerCase()) {
    case 'g':
    case 'go': {
      const k = argument !== undefined && /^\d{1,9}$/.test(argument) ? Number(argument) : null
      return k === null ? unknown('g needs the number of a transition, such as g 12.') : { kind: 'go', k }
    }
    case 'p':
    case 'print':
      if (argument === undefined) return { kind: 'print', as: 'text' }
      return argument === 'json' ? { kind: 'print', as: 'json' } : unknown('p takes nothing, or json: p json.')
  }
  if (argument !== undefined) return unknown(`${JSON.stringify(line.trim())} is no command; h lists them.`)
  switch (word.toLowerCase()) {
    case '':
    case 'n':
    case 'next':
      return { kind: 'next' }
    case 'c':
    case 'continue':
      return { kind: 'continue' }
    case 'q':
    case 'quit':
    case 'exit':
      return { kind: 'quit' }
    case 'h':
    case 'help':
    case '?':
      return { kind: 'help' }
    default:
      return unknown(`${JSON.stringify(word)} is no command; h lists them.`)
  }
}
