/** The session that is open and its turns: what is sent, what waits, what is interrupted. */
import { nextInput } from '../machines/budget.ts'
import { type Conversation, isUnfinished } from '../machines/conversation.ts'
import { messageOf } from '../machines/errorText.ts'
import type { SessionChoice } from '../run/request.ts'
import type { Progress } from '../services/ports.ts'
import type { StepPort } from '../services/stepPorts.ts'
import type { Begin, Desk, Eyes, OpenSession, OpenTurn, TurnEnd } from './desk.ts'
import type { Activity, Figures } from './status.ts'

export interface Talk {
  /** null before the first is open. */
  session(): OpenSession | null
  /** Opens a session in place of the one that is open. @returns a sentence where it cannot; the other stays then */
  open(choice: SessionChoice): Promise<string | null>
  setModel(name: string): void
  /** Sends it, or queues it while a turn runs. */
  send(begin: Begin): void
  queue(): readonly string[]
  /** Takes the last prompt out of the queue. @returns null where none waits */
  takeBack(): string | null
  /** Empties the queue. */
  takeQueue(): string[]
  isBusy(): boolean
  /** @returns whether there was something to interrupt */
  interrupt(): boolean
  setStep(step: StepPort | null): void
  figures(): Figures
  setAsking(isAsking: boolean): void
  setStopped(state: string | null): void
  /** What a command of the person's is at, in words. */
  setDoing(words: string | null): void
  /** Ends the turn that runs, and the session. */
  close(): Promise<void>
}

export interface TalkOptions {
  desk: Desk
  eyes: Eyes
  /** What runs now, from the transcript. */
  running: () => { words: string; since: number } | null
  onOpened(session: OpenSession): void
  onSent(begin: Begin): void
  /** @param unkept the words of a prompt that the turn was stopped before it could keep; else null */
  onEnded(end: TurnEnd, unkept: string | null): void
  changed(): void
}

export function createTalk(options: TalkOptions): Talk {
  const { desk, changed } = options
  let session: OpenSession | null = null
  let turn: OpenTurn | null = null
  let working = false
  let queue: Begin[] = []
  let state = 'calling'
  let since = performance.now()
  /** The model is not asked again before this. */
  let waitsUntil = 0
  /** Questions and lists that are open: one may come over another. */
  let asking = 0
  let stopped: string | null = null
  let doing: { words: string; since: number } | null = null
  let branch: string | null = null
  let model: string | null = null
  let step: StepPort | null = null
  /** An interruption that came before the turn could take it. */
  let wanted: string | null = null

  const observe = (event: Progress): void => {
    if (event.type === 'retry') waitsUntil = performance.now() + event.delay_ms
    if (event.type === 'state' || event.type === 'text') waitsUntil = 0
    if (event.type === 'state') {
      state = event.state
      since = performance.now()
    }
    if (event.type === 'text' && state === 'calling') {
      state = 'answering'
      since = performance.now()
    }
    if (event.type === 'toolResults') void readBranch()
    options.eyes.observe(event)
    changed()
  }
  const readBranch = async (): Promise<void> => {
    branch = (await session?.branch()) ?? null
    changed()
  }
  const run = async (begin: Begin): Promise<void> => {
    if (session === null) return
    working = true
    wanted = null
    waitsUntil = 0
    since = performance.now()
    options.onSent(begin)
    const { prompts } = session.conversation()
    try {
      turn = await session.turn(begin)
      if (wanted !== null) turn.interrupt(wanted)
      const end = await turn.ended
      working = false
      const isKept = begin.kind !== 'prompt' || end.conversation.prompts > prompts
      options.onEnded(end, isKept ? null : begin.text)
    } catch (error) {
      const message = `internal error: ${messageOf(error)}. Please report it.`
      options.eyes.observe({ type: 'warning', message })
    }
    turn = null
    working = false
    void readBranch()
    const next = queue.shift()
    if (next !== undefined) void run(next)
    changed()
  }
  const conversation = (): Conversation | null => session?.conversation() ?? null
  const activity = (): Activity => {
    if (session === null) return { kind: 'opening' }
    if (asking > 0) return { kind: 'asks' }
    if (stopped !== null) return { kind: 'steps', state: stopped }
    if (!working && doing !== null) return { kind: 'works', state: '', ...doing }
    if (!working) return { kind: 'waits' }
    const running = options.running()
    const waiting = Math.ceil((waitsUntil - performance.now()) / 1000)
    if (running === null && waiting > 0)
      return { kind: 'works', state, words: `asks again in ${waiting}s, waiting`, since }
    return { kind: 'works', state, words: running?.words ?? null, since: running?.since ?? since }
  }
  return {
    session: () => session,
    async open(choice) {
      const old = session
      const isSame = choice.kind === 'resume' && !choice.fork && choice.id === old?.session_id
      // A session can be held once: the one that is opened anew is given free before.
      if (isSame) await old?.close()
      const opened = await desk.open(choice, model, { ...options.eyes, observe })
      if (!opened.ok) return opened.message
      session = opened.value
      session.setStep(step)
      if (!isSame) await old?.close()
      // What was sent before the first session was open waits for it; what waits in another is not for this one.
      const first = old === null ? queue.shift() : undefined
      if (old !== null) queue = []
      void readBranch()
      options.onOpened(session)
      if (first !== undefined) void run(first)
      changed()
      return null
    },
    setModel(name) {
      model = name
      session?.setModel(name)
      changed()
    },
    send(begin) {
      if (working || session === null) queue.push(begin)
      else void run(begin)
      changed()
    },
    queue: () => queue.map((begin) => (begin.kind === 'prompt' ? begin.text : begin.kind)),
    takeBack() {
      const at = queue.findLastIndex((begin) => begin.kind === 'prompt')
      const [begin] = at < 0 ? [] : queue.splice(at, 1)
      return begin?.kind === 'prompt' ? begin.text : null
    },
    takeQueue() {
      const texts = queue.flatMap((begin) => typedFor(begin) ?? [])
      queue = []
      return texts
    },
    isBusy: () => working,
    interrupt() {
      if (!working) return false
      wanted = 'the user interrupted'
      turn?.interrupt(wanted)
      return true
    },
    setStep(next) {
      step = next
      session?.setStep(next)
    },
    figures() {
      const c = conversation()
      return {
        activity: activity(),
        model: session?.model() ?? '',
        used: c === null ? 0 : nextInput(c),
        budget: session?.budget() ?? 0,
        cost: session?.spent() ?? null,
        branch,
        session_id: session?.session_id ?? '',
        approvesAll: desk.approvesAll,
      }
    },
    setAsking(isAsking) {
      asking += isAsking ? 1 : -1
      changed()
    },
    setStopped(at) {
      stopped = at
      changed()
    },
    setDoing(words) {
      doing = words === null ? null : { words, since: performance.now() }
      changed()
    },
    async close() {
      queue = []
      turn?.interrupt('the conversation was left')
      await turn?.ended
      await session?.close()
    },
  }
}

/** @returns whether the last turn of what was opened can be carried on without new words */
export function canGoOn(session: OpenSession | null): boolean {
  return session !== null && isUnfinished(session.conversation())
}

/** @returns what a person typed for it; null where it was no text */
function typedFor(begin: Begin): string | null {
  switch (begin.kind) {
    case 'prompt':
      return begin.text
    case 'compact':
      return `/compact ${begin.focus ?? ''}`.trim()
    case 'resume':
      return null
  }
}
