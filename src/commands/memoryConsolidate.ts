/** `agent memory consolidate`: asks the model for a shorter set of memories, however many there are. */
import { count } from '../machines/words.ts'
import { openMemory } from '../run/memory.ts'
import { openServer } from '../run/model.ts'
import type { Memory, MemoryPort } from '../services/memoryPorts.ts'
import { DEFAULT_MODEL, maxOutputOf } from '../services/model/prices.ts'
import { jsonLine } from '../services/output/jsonLines.ts'
import { consolidateAll } from '../services/provide/remember.ts'
import type { Settings } from '../services/settings/index.ts'
import type { Out } from './look.ts'

/** What the command works in. */
export interface ConsolidateShell {
  cwd: string
  json: boolean
  settings: Settings
  out: Out
}

/**
 * Prints how many memories there were and are.
 * @param all the memories there are
 * @returns the exit code: 0, also where there is nothing to merge; 1 where the model's reply was of no use
 */
export async function consolidateCommand(
  notes: MemoryPort,
  all: readonly Memory[],
  { cwd, json, settings, out }: ConsolidateShell,
  refuse: (message: string) => number,
): Promise<number> {
  const print = (after: number, problem: string | null): void => {
    const outcome = { before: all.length, after, changed: problem === null, ...(problem !== null && { problem }) }
    if (json) out.print(jsonLine(outcome))
    else if (problem === null) out.print(`${count(all.length, 'memory', 'memories')} became ${after}`)
    if (problem !== null) out.fail(`${problem} The memories are as they were.`)
  }
  if (all.length < 2) {
    print(all.length, 'There is nothing to merge.')
    return 0
  }
  const model = openServer(settings)
  if (!model.ok) return refuse(model.message)
  const name = settings.model ?? DEFAULT_MODEL
  const maxOutputTokens = settings.max_output_tokens ?? maxOutputOf(name)
  const memory = openMemory({ cwd, settings, model: model.value, name, maxOutputTokens, warn: () => {} })
  if (memory === undefined) throw new Error('memory is off')
  const done = await consolidateAll({ ...memory, notes }, all, new AbortController().signal)
  model.value.close()
  if (done.consolidated !== undefined) {
    print(done.consolidated.after, null)
    return 0
  }
  print(all.length, done.problem ?? done.calls[0]?.problem ?? 'They are too long to be merged.')
  return 1
}
