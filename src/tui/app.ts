/** The conversation at the terminal: joins keys, session and screen. What each of them does is in the files beside. */
import picocolors from 'picocolors'
import { messageOf } from '../machines/errorText.ts'
import { wantsColor } from '../services/output/index.ts'
import { clip, printable, printableLine } from '../services/text.ts'
import { createAsking } from './asking.ts'
import { promptBlock } from './blocks.ts'
import { createCommands, isCommand } from './commands.ts'
import type { Desk, TurnEnd } from './desk.ts'
import { createEditorPanel } from './editorPanel.ts'
import { createFileList } from './fileList.ts'
import type { Hands } from './hands.ts'
import { type History, openHistory } from './history.ts'
import type { Input, Key } from './keys.ts'
import { createLookBack } from './lookBack.ts'
import { createOpening } from './opening.ts'
import { pick } from './pickerPanel.ts'
import { createRenderers } from './renderers.ts'
import { againLines, endLines } from './sentences.ts'
import { createStage } from './stage.ts'
import { statusLine } from './status.ts'
import { createStepping } from './stepping.ts'
import { canGoOn, createTalk } from './talk.ts'
import { createTranscript } from './transcript.ts'

/** Two presses of Ctrl-C within this leave. */
const TWICE_MS = 1_500
const TICK_MS = 120
/** After the first prompt stands: what is heavy is loaded while the person reads. */
const LOAD_MS = 30

/** Runs the conversation until the person leaves. @returns the exit code */
export function runApp(desk: Desk): Promise<number> {
  const { stdin, stdout, env } = process
  const colors = picocolors.createColors(wantsColor(true, env))
  const renderers = createRenderers()
  let history: History = openHistory(desk.home, process.cwd())
  let lastInterrupt = Number.NEGATIVE_INFINITY
  let isLeaving = false
  let leftWith: (code: number) => void = () => {}
  const left = new Promise<number>((resolve) => {
    leftWith = resolve
  })

  const cwd = (): string => talk.session()?.cwd ?? process.cwd()
  const files = createFileList(() => desk.files(cwd()), cwd)
  const editor = createEditorPanel({
    colors,
    history: () => history,
    files,
    commands: () => commands.candidates(),
    submit,
    takeBack: () => talk.takeBack(),
    changed: () => stage.now(),
  })
  const transcript = createTranscript({
    colors,
    columns: () => stage.columns(),
    now: () => performance.now(),
    cwd,
    renderers: renderers.now,
    print: (...blocks) => stage.print(...blocks),
  })
  const ask = createAsking({
    stage: () => stage,
    draft: editor,
    colors,
    cwd,
    renderers: renderers.load,
    wasShown: transcript.wasShown,
    wasRefused: transcript.wasRefused,
    onAsking: (isAsking) => talk.setAsking(isAsking),
  })
  const talk = createTalk({
    desk,
    eyes: { observe: transcript.observe, ask },
    running: transcript.running,
    onOpened(session) {
      history = openHistory(desk.home, session.cwd)
      opening.onOpened(session)
    },
    onSent: (begin) => {
      stepping.turnBegins()
      if (begin.kind === 'prompt') stage.print(promptBlock(begin.text, colors))
    },
    onEnded,
    changed: () => stage.soon(),
  })
  const stage = createStage({
    stdin,
    stdout,
    colors,
    editor: () => editor,
    answer: () => transcript.answer,
    queue: talk.queue,
    status: (columns) => statusLine(talk.figures(), columns, performance.now(), colors),
    onInput,
    onClosed: () => void leave('the terminal was closed'),
  })
  const stepping = createStepping({ stage, colors, talk })
  const opening = createOpening({ desk, colors, talk: () => talk, stage: () => stage, transcript, renderers })
  const hands: Hands = {
    desk,
    colors,
    session: talk.session,
    figures: talk.figures,
    isBusy: talk.isBusy,
    tell: (text) => stage.tell(printable(text)),
    show: (lines) => stage.tell(lines.join('\n')),
    send: (text) => talk.send({ kind: 'prompt', text, extra: null }),
    compact: (focus) => talk.send({ kind: 'compact', focus }),
    open: opening.open,
    setModel: talk.setModel,
    pick: (title, items) => pick(title, items, { stage, colors, talk }),
    toggleStep: () => stepping.toggle(),
    leave: () => void leave(null),
  }
  const back = createLookBack({
    stage,
    colors,
    editor,
    pick: hands.pick,
    history: () => history,
    calls: transcript.lastCalls,
  })
  const commands = createCommands(hands, desk.home, cwd)

  function onEnded(end: TurnEnd, unkept: string | null): void {
    const { turn, round } = end.conversation
    const isStopped = turn.status === 'cancelled' || unkept !== null
    stage.print(...transcript.cutOff(round))
    // The turn that the conversation knows is then the one before.
    const said = unkept === null ? turn : { ...turn, status: 'cancelled' as const }
    for (const line of endLines({ ...end, turn: said }, colors)) stage.tell(line)
    if (end.unloadable === null) for (const line of againLines(end.conversation)) stage.tell(colors.dim(line))
    // What was queued was meant for after the work that is stopped now.
    const again = [...(unkept === null ? [] : [unkept]), ...(isStopped ? talk.takeQueue() : [])]
    if (again.length > 0) editor.setText([...again, editor.text()].filter((text) => text !== '').join('\n'))
  }

  function submit(text: string): void {
    if (text.trim() === '') {
      if (canGoOn(talk.session()) && !talk.isBusy()) talk.send({ kind: 'resume' })
      return
    }
    history.add(text)
    if (isCommand(text)) void run(text)
    else talk.send({ kind: 'prompt', text: text.startsWith(' /') ? text.slice(1) : text, extra: null })
  }
  async function run(text: string): Promise<void> {
    stage.print(promptBlock(text, colors))
    talk.setDoing(clip(printableLine(text), 40))
    try {
      await commands.run(text)
    } catch (error) {
      hands.tell(`The command failed: ${messageOf(error)}`)
    }
    talk.setDoing(null)
    stage.now()
  }

  function onInput(input: Input): void {
    if (input.kind !== 'key' || input.name !== 'o' || !input.ctrl) back.closeCalls()
    if (input.kind !== 'key' || !takeGlobal(input)) {
      const panel = stage.panel()
      if (!panel.take(input) && input.kind === 'key' && panel === editor) takeRest(input)
    }
    stage.now()
  }
  /** Keys that mean the same wherever one is. */
  function takeGlobal({ name, ctrl, alt }: Key): boolean {
    if (!ctrl || alt) return false
    switch (name) {
      case 'c':
        onInterrupt()
        return true
      case 'z':
        stage.suspend()
        return true
      case 'l':
        stage.redraw()
        return true
      case 'o':
        back.openCall()
        return true
      default:
        return false
    }
  }
  /** Keys that the editor leaves. */
  function takeRest({ name, ctrl }: Key): void {
    if (name === 'escape' && !editor.closeMenu()) talk.interrupt()
    if (name === 'd' && ctrl && editor.text() === '') void leave(null)
    if (name === 'r' && ctrl) void back.search()
  }
  function onInterrupt(): void {
    const again = performance.now() - lastInterrupt < TWICE_MS
    lastInterrupt = performance.now()
    if (again) return void leave(null)
    const { cancel } = stage.panel()
    if (cancel !== undefined) cancel()
    else if (!talk.interrupt()) editor.setText('')
    stage.hint('Ctrl-C again leaves.')
  }
  async function leave(why: string | null): Promise<void> {
    if (isLeaving) return
    isLeaving = true
    clearInterval(ticking)
    const session = talk.session()
    const closed = talk.close()
    stage.close()
    await closed.catch(() => {})
    const hasBegun = session !== null && session.conversation().session !== null
    if (hasBegun && why !== 'the terminal was closed')
      stdout.write(`To go on with this conversation: agent -r ${session.session_id}\n`)
    leftWith(desk.exitCode() ?? 0)
  }

  const ticking = setInterval(() => {
    if (talk.isBusy()) stage.soon()
  }, TICK_MS)
  desk.lastly(() => stage.close())
  desk.whenStopped((reason) => void leave(reason))
  stage.now()
  setTimeout(renderers.load, LOAD_MS)
  if (desk.isStepping) stepping.toggle()
  void begin()
  async function begin(): Promise<void> {
    if (desk.first.kind !== 'new') await renderers.load()
    const problem = await talk.open(desk.first)
    if (problem === null || isLeaving) return
    isLeaving = true
    clearInterval(ticking)
    stage.close()
    process.stderr.write(`agent: ${printable(problem)}\n`)
    leftWith(desk.exitCode() ?? 2)
  }
  return left
}
