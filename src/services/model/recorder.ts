/** `--record <file>`: keeps each reply of the model as a line that `--model replay:<file>` can play. */
import { appendFileSync, closeSync, openSync } from 'node:fs'
import type { ModelPort, Result } from '../ports.ts'
import type { Model } from './index.ts'
import { type RecordedCall, requestHash } from './recording.ts'

/**
 * @param file made anew, readable by nobody else; its directory must exist
 * @returns the model, its whole replies written down in the order in which they came
 */
export function recordModel(model: Model, file: string): Result<Model> {
  try {
    closeSync(openSync(file, 'w', 0o600))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { ok: false, message: `--record ${JSON.stringify(file)} cannot be written: ${reason}.` }
  }
  const call: ModelPort['call'] = async (request, how) => {
    const outcome = await model.call(request, how)
    if (outcome.kind === 'replied') {
      const { id, model: name, content, stop_reason, usage, measured } = outcome.record
      const reply = { id, model: name, content, stop_reason, ...(measured && { usage }) }
      const line: RecordedCall = { request_hash: requestHash(request), reply }
      appendFileSync(file, `${JSON.stringify(line)}\n`)
    }
    return outcome
  }
  return { ok: true, value: { ...model, call } }
}
