/** Where a run's replies come from: a server, a recording, or a model that the caller hands in. */
import { readFileSync } from 'node:fs'
import { messageOf } from '../machines/errorText.ts'
import { createModel, type Model } from '../services/model/index.ts'
import { checkBaseUrl } from '../services/model/key.ts'
import { recordModel } from '../services/model/recorder.ts'
import { parseRecording } from '../services/model/recording.ts'
import { createReplayModel, recordedModel } from '../services/model/replay.ts'
import type { Result } from '../services/ports.ts'
import type { Settings } from '../services/settings/index.ts'
import { credentials } from './credentials.ts'
import type { RunRequest } from './request.ts'

/** `server`: what the command line, the environment and the settings say. */
export type ModelSource = { kind: 'server' } | { kind: 'given'; model: Model }

const REPLAY = 'replay:'

/** Variables that hold a time, and the least that makes sense. */
const TIMES = { AGENT_STREAM_IDLE_MS: 1, AGENT_RETRY_MS: 0, AGENT_SIDE_CALL_MS: 1 }

/** @param warn told of what differs from a recording that is played */
export function openModel(
  source: ModelSource,
  request: RunRequest,
  settings: Settings,
  warn: (message: string) => void,
): Result<Model> {
  const model = modelOf(source, request, settings, warn)
  if (!model.ok || request.record === null) return model
  return recordModel(model.value, request.record, warn)
}

function modelOf(
  source: ModelSource,
  request: RunRequest,
  settings: Settings,
  warn: (message: string) => void,
): Result<Model> {
  if (source.kind === 'given') return { ok: true, value: source.model }
  const name = request.model ?? settings.model ?? ''
  if (name.startsWith(REPLAY)) return openReplay(name.slice(REPLAY.length), warn)
  return openServer(settings)
}

/** @returns the model of the server that the environment and the settings name, or what is wrong with key or address */
export function openServer(settings: Settings): Result<Model> {
  const wrong = wrongTime(process.env)
  if (wrong !== null) return { ok: false, message: wrong }
  const key = credentials(process.env)
  if (!key.ok) return key
  const baseUrl = checkBaseUrl(settings.base_url ?? undefined)
  if (!baseUrl.ok) return baseUrl
  return { ok: true, value: createModel({ baseUrl: baseUrl.value, ...key.value }) }
}

/** A time that is not understood would be a default nobody knows of. @returns a sentence, null where all are right */
function wrongTime(env: NodeJS.ProcessEnv): string | null {
  for (const [name, least] of Object.entries(TIMES)) {
    const text = env[name]?.trim() ?? ''
    if (text !== '' && !(/^\d{1,9}$/.test(text) && Number(text) >= least))
      return `${name} is a whole number of milliseconds from ${least} on, not ${JSON.stringify(text)}.`
  }
  return null
}

function openReplay(file: string, warn: (message: string) => void): Result<Model> {
  const named = `The recording ${JSON.stringify(file)}`
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    return { ok: false, message: `${named} cannot be read: ${messageOf(error)}.` }
  }
  const calls = parseRecording(text)
  if (!calls.ok) return { ok: false, message: `${named} cannot be played. ${calls.message}` }
  const differs = (call: number, how: string): void =>
    warn(`Request ${call} differs from the recorded one in ${how}; the recorded reply is played all the same.`)
  // Limits, budget and prices are those of the model that was recorded: so the run decides as that one did.
  const name = recordedModel(calls.value) ?? 'recorded'
  return { ok: true, value: { ...createReplayModel(calls.value, differs), name } }
}
