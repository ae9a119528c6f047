/** Asks a person line by line: the question on one stream, the answer on another. */
import { createInterface } from 'node:readline'
import { sessionScope } from '../approvalWords.ts'
import type { Answer, AskPerson, Question } from '../ports.ts'
import { printable, printableLine } from '../text.ts'

export interface LineStreams {
  input: NodeJS.ReadableStream
  output: { write(text: string): unknown }
  /** Takes whatever is drawn there out of the way. @returns gives it back */
  pause(): () => void
}

/** @returns a person to ask; the end of the input means no, now and from then on */
export function createLineAsker(streams: LineStreams): AskPerson {
  return async (question, signal) => {
    const resume = streams.pause()
    try {
      streams.output.write(wording(question))
      return await answerFrom(streams, question, signal)
    } finally {
      resume()
    }
  }
}

/** The whole of what would be done, made harmless: what is not shown cannot be judged. */
function wording({ tool, subject, reason, rules }: Question): string {
  const lines = printable(subject)
    .split('\n')
    .map((line) => `    ${line}`)
  const always = rules.map((rule) => printableLine(rule)).join(', ')
  const keys = [
    '1  once',
    `2  for this session: ${sessionScope({ tool, rules })}`,
    ...(always === '' ? [] : [`3  always: adds ${always} to your settings`]),
    '4  no; or type what to do instead',
  ]
  return [
    `\n${printableLine(tool)} asks:`,
    ...lines,
    `  ${printableLine(reason)}`,
    ...keys.map((key) => `  ${key}`),
    '> ',
  ].join('\n')
}

function answerFrom({ input, output }: LineStreams, { rules }: Question, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    // Not a terminal for readline: the system edits the line, and Ctrl-C stays a signal.
    const lines = createInterface({ input, terminal: false })
    const end = (finish: () => void): void => {
      signal.removeEventListener('abort', onAbort)
      lines.removeAllListeners()
      lines.close()
      finish()
    }
    const onAbort = (): void => end(() => reject(signal.reason))
    lines.on('line', (line) => {
      const answer = answerOf(line, rules.length > 0)
      if (answer === null) output.write('> ')
      else end(() => resolve(answer))
    })
    lines.on('close', () => end(() => resolve({ kind: 'no', why: null })))
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
}

/** @returns null where the line says nothing */
function answerOf(line: string, canKeep: boolean): Answer | null {
  const text = line.trim()
  switch (text.toLowerCase()) {
    case '':
      return null
    case '1':
    case 'o':
    case 'once':
    case 'y':
    case 'yes':
      return { kind: 'once' }
    case '2':
    case 's':
    case 'session':
      return { kind: 'session' }
    case '3':
    case 'a':
    case 'always':
      return canKeep ? { kind: 'always' } : null
    case '4':
    case 'n':
    case 'no':
      return { kind: 'no', why: null }
    default:
      return { kind: 'no', why: text }
  }
}
