/** Opening a session: its first line, what happened in it before, and what can be done with it now. */
import type { Colors } from 'picocolors/types.js'
import type { SessionChoice } from '../run/request.ts'
import { printable, printableLine } from '../services/text.ts'
import type { Desk, OpenSession } from './desk.ts'
import { showPast } from './past.ts'
import type { LoadedRenderers } from './renderers.ts'
import type { Stage } from './stage.ts'
import { canGoOn, type Talk } from './talk.ts'
import type { Transcript } from './transcript.ts'

export interface Opening {
  /** @returns whether it is open now; where it is not, the other stays, and the person is told why */
  open(choice: SessionChoice, where?: 'below' | 'onEmptyScreen'): Promise<boolean>
  /** To be called when a session is open. */
  onOpened(session: OpenSession): void
}

export interface OpeningOptions {
  desk: Desk
  colors: Colors
  talk: () => Talk
  stage: () => Stage
  transcript: Transcript
  renderers: LoadedRenderers
}

export function createOpening({ desk, colors, talk, stage, transcript, renderers }: OpeningOptions): Opening {
  let isEmptied = false
  let last: string | null = null
  const tell = (text: string): void => stage().tell(text)
  return {
    async open(choice, where = 'below') {
      if (talk().isBusy()) {
        tell('The agent works: stop it with Esc first.')
        return false
      }
      if (choice.kind !== 'new') await renderers.load()
      isEmptied = where === 'onEmptyScreen'
      const problem = await talk().open(choice)
      isEmptied = false
      if (problem !== null) tell(printable(problem))
      return problem === null
    },
    onOpened(session) {
      const { session_id, cwd, past } = session
      if (isEmptied) stage().wipe()
      const isOld = past.length > 0
      const about = isOld ? `session ${session_id.slice(0, 8)}` : '/help shows what can be typed'
      tell(colors.dim(`agent ${desk.version} · ${printableLine(cwd)} · ${about}`))
      // Opened anew for other settings, it stands on the screen already.
      const isSame = session_id === last
      last = session_id
      if (!isOld || isSame) return
      transcript.forget()
      showPast(session, { transcript, print: stage().print, tell, colors })
      if (canGoOn(session))
        tell(colors.yellow('The last turn was cut off before its answer: Enter on an empty line goes on with it.'))
    },
  }
}
