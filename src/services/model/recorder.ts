/** `--record <file>`: keeps what each call of the model came to as a line that `--model replay:<file>` can play. */
import { appendFileSync, closeSync, fchmodSync, fstatSync, openSync } from 'node:fs'
import { messageOf } from '../../machines/errorText.ts'
import type { ModelOutcome, ModelPort, ModelRequest, Result } from '../ports.ts'
import type { Model } from './index.ts'
import { describeRequest, type RecordedCall, requestHash } from './recording.ts'

/**
 * @param file made anew, readable by nobody else, also where there was one before; its directory must exist
 * @param warn told once where the file cannot be written any more; the run goes on without
 * @returns the model, its outcomes written down in the order in which they came: a replay needs the failures too
 */
export function recordModel(model: Model, file: string, warn: (message: string) => void): Result<Model> {
  let isBroken = false

  try {
    if (!makePrivate(file))
      warn(`The recording ${JSON.stringify(file)} can be read by others, and its mode cannot be changed: move it.`)
  } catch (error) {
    return { ok: false, message: `--record ${JSON.stringify(file)} cannot be written: ${messageOf(error)}.` }
  }
  const note = (line: string): void => {
    try {
      appendFileSync(file, line)
    } catch (error) {
      isBroken = true
      warn(`The recording ${JSON.stringify(file)} ends here, it cannot be written: ${messageOf(error)}.`)
    }
  }
  const call: ModelPort['call'] = async (request, how) => {
    const outcome = await model.call(request, how)
    if (!isBroken) note(`${JSON.stringify(lineOf(request, outcome))}\n`)
    return outcome
  }
  return { ok: true, value: { ...model, call } }
}

/**
 * Empties the file, or makes it, for its owner alone: it will hold what the model was told and said. A pipe or a
 * device keeps its mode. @returns whether it is private, where that is for us to say
 */
function makePrivate(file: string): boolean {
  const handle = openSync(file, 'w', 0o600)
  try {
    const stat = fstatSync(handle)
    if (stat.isFile() && (stat.mode & 0o077) !== 0) fchmodSync(handle, 0o600)
    return true
  } catch {
    return false
  } finally {
    closeSync(handle)
  }
}

function lineOf(request: ModelRequest, outcome: ModelOutcome): RecordedCall {
  const asked = { request_hash: requestHash(request), request: describeRequest(request) }
  if (outcome.kind === 'callFailed') {
    const { type: _, ms: __, ...failure } = outcome.record
    return { ...asked, failure }
  }
  const { id, model, content, stop_reason, usage, measured, incomplete } = outcome.record
  return {
    ...asked,
    reply: { id, model, content, stop_reason, ...(measured && { usage }), ...(incomplete && { incomplete }) },
  }
}
