/** `agent graph`, `trace`, `replay`, `fork` and `inspect`: from the command line to the commands over the real store. */
import { storeFor, storeOf } from '../run/settings.ts'
import type { Result } from '../services/ports.ts'
import { DEFAULT_SETTINGS } from '../services/settings/index.ts'
import { printable } from '../services/text.ts'
import { type LookDeps, ownStreams } from './look.ts'
import type { CommandRequest } from './request.ts'

/** @returns the exit code */
export async function runLooking(command: CommandRequest, cwd: string): Promise<number> {
  const id = idOf(command)
  if (!id.ok) {
    process.stderr.write(`agent: ${printable(id.message)}\n`)
    return 2
  }
  const { stderr } = process
  const warn = (message: string): void => void stderr.write(`agent: ${printable(message)}\n`)
  if (command.name === 'graph' && command.flags.session === null && command.common.settings !== null) {
    stderr.write('agent: --settings means nothing to agent graph without --session <id>: the chart alone has none.\n')
    return 2
  }
  // The chart alone is of no directory: broken settings must not keep it from being drawn.
  const isOfSession = command.name !== 'graph' || command.flags.session !== null
  const opened = isOfSession ? await storeFor(cwd, command.common, warn) : storeOf(DEFAULT_SETTINGS, warn)
  if (!opened.ok) {
    stderr.write(`agent: ${printable(opened.message)}\n`)
    return 2
  }
  const store = opened.value
  try {
    return await run(command, id.value, { store, ...ownStreams() }, cwd)
  } finally {
    await store.close()
  }
}

async function run({ name, common, flags }: CommandRequest, id: string, deps: LookDeps, cwd: string): Promise<number> {
  const json = common.format === 'json'
  switch (name) {
    case 'graph': {
      const { GRAPH_FORMATS, graphCommand } = await import('./graph.ts')
      if (json && (flags.graphFormat ?? 'json') !== 'json') {
        deps.stderr.write(
          `agent: --json and --format ${printable(String(flags.graphFormat))} exclude each other; give one of them.\n`,
        )
        return 2
      }
      const format = GRAPH_FORMATS.find((one) => one === (flags.graphFormat ?? (json ? 'json' : 'mermaid')))
      if (format === undefined) {
        deps.stderr.write(
          `agent: --format is ${GRAPH_FORMATS.join(', ')}, not ${printable(JSON.stringify(flags.graphFormat))}.\n`,
        )
        return 2
      }
      return graphCommand({ format, session: flags.session }, { ...deps, store: () => deps.store })
    }
    case 'trace': {
      const { traceCommand } = await import('./trace.ts')
      return traceCommand({ id, json }, deps)
    }
    case 'replay': {
      const { replayCommand } = await import('./replay.ts')
      return replayCommand({ id, at: flags.at, json }, deps)
    }
    case 'fork': {
      const { forkCommand } = await import('./fork.ts')
      return forkCommand({ id, at: flags.at, json }, deps)
    }
    case 'inspect': {
      const { inspectCommand } = await import('./inspect.ts')
      return inspectCommand({ id: id === '' ? null : id, open: !flags.noOpen, json, cwd }, deps)
    }
    default:
      throw new Error(`no command ${name}`)
  }
}

function takenBy(name: string): string {
  if (name === 'graph') return 'agent graph takes a session as --session <id>'
  return name === 'fork'
    ? 'agent fork takes one session; a prompt goes with -p "<prompt>"'
    : `agent ${name} takes one session`
}

/** @returns the session that is named, '' where none is */
function idOf({ name, input: [id = '', extra] }: CommandRequest): Result<string> {
  const unexpected = name === 'graph' && id !== '' ? id : extra
  if (unexpected !== undefined)
    return { ok: false, message: `Unexpected argument ${JSON.stringify(unexpected)}: ${takenBy(name)}.` }
  if (id === '' && name !== 'graph' && name !== 'inspect')
    return { ok: false, message: `${name} needs a session id; agent sessions --all lists them.` }
  return { ok: true, value: id }
}
