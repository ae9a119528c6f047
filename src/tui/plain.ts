/**
 * The conversation in lines, for terminals that cannot do more and for screen readers: nothing is drawn twice, and
 * choices are numbers.
 */
import picocolors from 'picocolors'
import { rulesInShort, sessionScope } from '../services/approvalWords.ts'
import type { Answer, AskPerson } from '../services/ports.ts'
import { printable, printableLine } from '../services/text.ts'
import { revealed } from './blocks.ts'
import { createCommands, isCommand } from './commands.ts'
import type { Desk } from './desk.ts'
import { changeOf } from './edits.ts'
import type { Hands } from './hands.ts'
import { createLines, type Lines } from './lines.ts'
import { showPast } from './past.ts'
import { type Block, spaced } from './screen.ts'
import { againLines, endLines } from './sentences.ts'
import { canGoOn, createTalk } from './talk.ts'
import { createTranscript } from './transcript.ts'

const TWICE_MS = 1_500

/** Runs the conversation until the person leaves. @returns the exit code */
export async function runPlain(desk: Desk): Promise<number> {
  const { stdin, stdout } = process
  const colors = picocolors.createColors(false)
  const lines = createLines(stdin)
  const write = (text: string): void => {
    stdout.write(text)
    lastLine = null
  }
  /** The last line where it is of a block: between blocks there is one blank line at most. */
  let lastLine: string | null = null
  const columns = (): number => Math.max(20, stdout.columns || 80)
  const print = (...blocks: Block[]): void => {
    const printed = blocks.flatMap((block) => block(columns()))
    for (const line of spaced(printed, lastLine)) write(`${line}\n`)
    lastLine = printed.at(-1) ?? lastLine
  }
  let turnOver: () => void = () => {}
  let isLeaving = false
  const transcript = createTranscript({
    colors,
    columns,
    now: () => performance.now(),
    cwd: () => talk.session()?.cwd ?? process.cwd(),
    renderers: () => undefined,
    print,
  })
  const talk = createTalk({
    desk,
    eyes: {
      observe: transcript.observe,
      ask: askIn(lines, write, columns, () => talk.session()?.cwd ?? process.cwd()),
    },
    running: transcript.running,
    onOpened(session) {
      write(`agent ${desk.version}, ${printableLine(session.cwd)}. /help shows what can be typed.\n`)
      const tell = (text: string): void => write(`${text}\n`)
      if (session.past.length > 0) showPast(session, { transcript, print, tell, colors })
      if (canGoOn(session)) write('The last turn was cut off before its answer: an empty line goes on with it.\n')
    },
    onSent: () => {},
    onEnded(end) {
      const { turn, round } = end.conversation
      print(...transcript.cutOff(round))
      const again = end.unloadable === null ? againLines(end.conversation) : []
      for (const line of [...endLines({ ...end, turn }, colors), ...again]) write(`${line}\n`)
      turnOver()
    },
    changed: () => {},
  })
  const hands: Hands = {
    desk,
    colors,
    session: talk.session,
    figures: talk.figures,
    isBusy: talk.isBusy,
    tell: (text) => write(`${printable(text)}\n`),
    show: (shown) => write(`${shown.join('\n')}\n`),
    send: (text) => talk.send({ kind: 'prompt', text, extra: null }),
    compact: (focus) => talk.send({ kind: 'compact', focus }),
    async open(choice) {
      const problem = await talk.open(choice)
      if (problem !== null) write(`${printable(problem)}\n`)
      return problem === null
    },
    setModel: talk.setModel,
    async pick(title, items) {
      write(`${title}\n${items.map((item, i) => `${i + 1}  ${item}\n`).join('')}Number, or nothing to go back: `)
      const number = Number((await lines.next())?.trim() || Number.NaN)
      return items[number - 1] === undefined ? null : number - 1
    },
    toggleStep: () => null,
    leave: () => {
      isLeaving = true
    },
  }
  const commands = createCommands(hands, desk.home, () => talk.session()?.cwd ?? process.cwd())
  onInterrupts(
    () => talk.interrupt(),
    () => lines.end(),
  )
  desk.whenStopped(() => lines.end())

  const problem = await talk.open(desk.first)
  if (problem !== null) {
    process.stderr.write(`agent: ${printable(problem)}\n`)
    return desk.exitCode() ?? 2
  }
  while (!isLeaving) {
    write('> ')
    const line = await lines.next()
    if (line === null) break
    const over = new Promise<void>((resolve) => {
      turnOver = resolve
    })
    if (line.trim() === '' && canGoOn(talk.session())) talk.send({ kind: 'resume' })
    else if (isCommand(line)) await commands.run(line)
    else if (line.trim() !== '') talk.send({ kind: 'prompt', text: line, extra: null })
    if (talk.isBusy()) await over
  }
  const session = talk.session()
  await talk.close()
  if (session !== null && session.conversation().session !== null)
    write(`\nTo go on with this conversation: agent -r ${session.session_id}\n`)
  return desk.exitCode() ?? 0
}

/** Ctrl-C is a signal here: the first stops what the agent does, a second one soon after leaves. */
function onInterrupts(interrupt: () => boolean, leave: () => void): void {
  let last = Number.NEGATIVE_INFINITY
  process.removeAllListeners('SIGINT')
  process.on('SIGINT', () => {
    const again = performance.now() - last < TWICE_MS
    last = performance.now()
    if (again) leave()
    else if (!interrupt()) process.stdout.write('\nCtrl-C again leaves.\n> ')
  })
}

function askIn(lines: Lines, write: (text: string) => void, columns: () => number, cwd: () => string): AskPerson {
  return async ({ tool, call, subject, reason, rules }, signal) => {
    const { renderDiff } = await import('./diff.ts')
    const change = call === undefined ? null : changeOf(call, cwd())
    const diff =
      change === null
        ? []
        : renderDiff(change, columns() - 4, picocolors.createColors(false), Number.POSITIVE_INFINITY).lines
    const always = rules.length === 0 ? '' : rulesInShort(rules)
    const choices = [
      '1  once',
      `2  for this session: ${sessionScope({ tool, rules })}`,
      ...(always === '' ? [] : [`3  always: adds ${always} to your settings`]),
      '4  no; or type what to do instead',
    ]
    const what = revealed(subject).replaceAll('\n', '\n    ')
    const question = [`\n${printableLine(tool)} asks:`, `    ${what}`, ...diff.map((line) => `    ${line}`)]
    write(`${[...question, `  ${printableLine(reason)}`, ...choices].join('\n')}\n`)
    for (;;) {
      write('Number: ')
      // A prompt that was typed ahead is no answer.
      const line = await lines.fresh(signal)
      signal.throwIfAborted()
      const answer = answerOf(line, always !== '')
      if (answer !== null) return answer
    }
  }
}

function answerOf(line: string | null, canKeep: boolean): Answer | null {
  if (line === null) return { kind: 'no', why: null }
  switch (line.trim()) {
    case '':
      return null
    case '1':
      return { kind: 'once' }
    case '2':
      return { kind: 'session' }
    case '3':
      return canKeep ? { kind: 'always' } : null
    case '4':
    case 'n':
    case 'no':
      return { kind: 'no', why: null }
    default:
      // A number or a letter that stands for nothing was a slip, not a reason.
      return /^(?:\d+|\p{L})$/u.test(line.trim()) ? null : { kind: 'no', why: line.trim() }
  }
}
