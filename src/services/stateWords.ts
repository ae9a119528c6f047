/** What each state of the machine means for a person who waits; a final state has no words, nobody waits in it. */
import type { StateName } from '../machines/journal.ts'

const WORDS: Readonly<Record<StateName, string>> = {
  loadingContext: 'reading context',
  recalling: 'choosing memories',
  checkingBudget: 'checking the budget',
  trimming: 'making room',
  compacting: 'summarising the conversation',
  calling: 'thinking',
  runningTool: 'running tools',
  persisting: 'saving',
  remembering: 'remembering',
  done: '',
  failed: '',
  cancelled: '',
}

/** A state's name → its words; undefined where there are none. */
export const STATE_WORDS: Readonly<Record<string, string | undefined>> = Object.fromEntries(
  Object.entries(WORDS).map(([state, words]) => [state, words === '' ? undefined : words]),
)
