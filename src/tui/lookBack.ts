/** What a person looks back at: what was typed before, and the output of calls. */
import type { Colors } from 'picocolors/types.js'
import { printable, printableLine } from '../services/text.ts'
import type { EditorPanel } from './editorPanel.ts'
import type { Hands } from './hands.ts'
import type { History } from './history.ts'
import { lastCallBlock } from './sentences.ts'
import type { Stage } from './stage.ts'
import type { Transcript } from './transcript.ts'

export interface LookBack {
  /** Searches in what was typed before; what is chosen stands in the editor then. */
  search(): Promise<void>
  /** Shows the output of the last call; called again, of the one before it. */
  openCall(): void
  /** Another key came: the next look begins at the last call. */
  closeCalls(): void
}

export interface LookBackOptions {
  stage: Stage
  colors: Colors
  editor: Pick<EditorPanel, 'setText'>
  pick: Hands['pick']
  history: () => History
  calls: Transcript['lastCalls']
}

export function createLookBack({ stage, colors, editor, pick, history, calls }: LookBackOptions): LookBack {
  let opened = 0
  return {
    async search() {
      const lines = [...new Set([...history().all()].reverse())]
      const index = await pick('Said before:', lines.map(printableLine))
      if (index !== null) editor.setText(printable(lines[index] ?? ''))
      stage.now()
    },
    openCall() {
      const call = calls()[opened]
      opened += 1
      if (call === undefined)
        stage.hint(opened === 1 ? 'No call has ended yet.' : 'There are no earlier calls to open.')
      else stage.print(lastCallBlock(call, colors))
    },
    closeCalls() {
      opened = 0
    },
  }
}
