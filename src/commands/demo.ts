/**
 * `agent demo`: a small broken project in a temporary directory, mended by the real agent (machine, tools, store,
 * journal). Only the model's replies are recorded, so no key and no network is needed.
 */
import { mkdir, mkdtemp, realpath, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import embedded from '../../demo/embedded.json' with { type: 'json' }
import type { CommonOptions, RunRequest } from '../run/request.ts'
import { runPrompt } from '../run/run.ts'
import { parseRecording } from '../services/model/recording.ts'
import { createReplayModel } from '../services/model/replay.ts'
import type { Progress } from '../services/ports.ts'
import { describeCall, duration } from '../services/text.ts'
import { selfCommand } from './self.ts'

const PROMPT = 'The tests of this project fail. Find out why, mend the code, and show that they pass.'

/** @returns the exit code: that of the run */
export async function demo(common: CommonOptions): Promise<number> {
  const recording = parseRecording(embedded.replies)
  if (!recording.ok) throw new Error(recording.message)
  const directory = await copyProject(embedded.files)
  const asked = common.format ?? 'text'
  const say = (line: string): void => {
    // Beside JSON the words for people go to stderr.
    const stream = asked === 'text' ? process.stdout : process.stderr
    stream.write(`${line}\n`)
  }
  say(`A small broken project is in ${directory}`)
  say(`$ agent --yes -p ${JSON.stringify(PROMPT)}`)
  say("(the model's replies are recorded, everything else is real)\n")
  const request: RunRequest = {
    prompt: { kind: 'argument', text: PROMPT },
    session: { kind: 'new' },
    yes: true,
    model: 'recorded',
    maxTurns: null,
    appendSystemPrompt: null,
    record: null,
    step: false,
    sandbox: false,
  }
  const ended = await runPrompt({ ...common, cwd: directory, format: asked }, request, {
    source: { kind: 'given', model: createReplayModel(recording.value, () => {}) },
    // A terminal shows progress by itself.
    ...(process.stderr.isTTY !== true && { alsoObserve: createTeller(say) }),
  })
  if (ended.session_id !== null) for (const line of whatNext(ended.session_id, directory)) say(line)
  return ended.code
}

/** Writes the project's files; their names have slashes. */
async function copyProject(files: Record<string, string>): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'stepwright-demo-')))
  for (const [name, text] of Object.entries(files)) {
    const path = join(directory, name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text)
  }
  return directory
}

/** Tells each round's calls in their order when all of them have ended; they end in any. */
function createTeller(say: (line: string) => void): (event: Progress) => void {
  const finished = new Map<string, Extract<Progress, { type: 'toolFinished' }>>()
  return (event) => {
    if (event.type === 'toolFinished') finished.set(event.call.id, event)
    if (event.type !== 'toolResults') return
    for (const block of event.message.content) {
      const one = block.type === 'tool_result' ? finished.get(block.tool_use_id) : undefined
      if (one !== undefined) say(lineOf(one))
    }
  }
}

function lineOf({ call, is_error, ms }: Extract<Progress, { type: 'toolFinished' }>): string {
  return `  ${call.name.padEnd(10)} ${describeCall(call, 50).padEnd(50)} ${is_error ? 'failed' : 'ok'}, ${duration(ms)}`
}

function whatNext(id: string, directory: string): string[] {
  const agent = selfCommand()
  return [
    '',
    'See for yourself:',
    `  node --test ${directory}`,
    `  ${agent} trace ${id}`,
    `  ${agent} replay ${id} --at 12`,
    `  ${agent} inspect ${id}`,
    `  ${agent} sessions show ${id}`,
  ]
}
