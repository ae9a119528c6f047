/** `agent memory [list|show|rm|consolidate]`: the notes of this directory's long-term memory (contract.md, section 9). */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createMemory } from '../services/memory/index.ts'
import { foldedName, slugOf } from '../services/memory/slug.ts'
import type { Memory } from '../services/memoryPorts.ts'
import { jsonLine } from '../services/output/jsonLines.ts'
import type { Result } from '../services/ports.ts'
import { loadSettings, type Settings } from '../services/settings/index.ts'
import { isTrusted } from '../services/settings/trust.ts'
import { padTo, printable, printableLine } from '../services/text.ts'
import { type Out, ownStreams, withOut } from './look.ts'

export interface MemoryArgs {
  json: boolean
  /** Arguments after the command's name. */
  input: string[]
  /** The file of `--settings`. */
  settings: string | null
}

export interface MemoryPlace {
  /** The agent's home. */
  home: string
  /** Absolute and real. */
  cwd: string
}

type Action = { kind: 'list' } | { kind: 'show' | 'rm'; name: string } | { kind: 'consolidate' }

interface Shell extends MemoryPlace {
  json: boolean
  settings: Settings
  out: Out
}

/**
 * Runs the command; warnings and errors go to stderr.
 * @returns the exit code: 0; 1 where a consolidation failed; 2 where nothing was started
 */
export function memoryCommand(args: MemoryArgs, { home, cwd }: MemoryPlace): Promise<number> {
  return withOut(ownStreams(), async (out) => {
    const refuse = (message: string): number => {
      out.fail(message)
      return 2
    }
    const action = actionOf(args.input)
    if (!action.ok) return refuse(action.message)
    const trusted = isTrusted(home, cwd)
    const loaded = await loadSettings({ home, cwd, settingsFile: args.settings, env: process.env, trusted })
    if (!loaded.ok) return refuse(loaded.message)
    const { settings } = loaded.value
    if (settings.memory.enabled === false) out.tell('note: memory is off here (memory.enabled is false).')
    return perform(action.value, { home, cwd, json: args.json, settings, out }, refuse)
  })
}

function actionOf(input: string[]): Result<Action> {
  const [kind = 'list', name, extra] = input
  const unexpected = (argument: string) => ({
    ok: false as const,
    message: `Unexpected argument ${JSON.stringify(argument)} after agent memory ${kind}.`,
  })
  switch (kind) {
    case 'list':
    case 'consolidate':
      return name === undefined ? { ok: true, value: { kind } } : unexpected(name)
    case 'show':
    case 'rm':
      if (extra !== undefined) return unexpected(extra)
      if (name !== undefined) return { ok: true, value: { kind, name } }
      return { ok: false, message: `memory ${kind} needs the name of a memory; agent memory lists them.` }
    default:
      return {
        ok: false,
        message: `memory knows list, show, rm and consolidate, not ${JSON.stringify(kind)}.`,
      }
  }
}

async function perform(action: Action, shell: Shell, refuse: (message: string) => number): Promise<number> {
  const { cwd, json, settings, out } = shell
  const warn = (message: string): void => out.tell(`warning: ${message}`)
  const notes = createMemory({ cwd, enabled: settings.memory.enabled, warn })
  notes.isOn()
  const all = await notes.list()
  switch (action.kind) {
    case 'list': {
      const listed = all.map(({ file, name, type, description }) => ({ file, name, type, description }))
      if (json) out.print(jsonLine(listed))
      else for (const line of all.length === 0 ? [none(cwd, settings)] : table(all)) out.print(line)
      return 0
    }
    case 'show': {
      const found = findMemory(all, action.name)
      if (!found.ok) return refuse(found.message)
      const { file, name, type, description, body } = found.value
      if (json) out.print(jsonLine({ file, name, type, description, body }))
      else out.print(printable(readFileSync(join(cwd, '.memory', file), 'utf8')).replace(/\n$/, ''))
      return 0
    }
    case 'rm': {
      const found = findMemory(all, action.name)
      if (!found.ok) return refuse(found.message)
      const removed = await notes.remove(found.value.file)
      if (!removed.ok) return refuse(`Nothing was removed: ${removed.message}.`)
      const { file } = found.value
      out.print(json ? jsonLine({ removed: [file] }) : `removed .memory/${printableLine(file)}`)
      return 0
    }
    case 'consolidate': {
      if (settings.memory.enabled === false) return refuse('Memory is off: set memory.enabled to consolidate.')
      const { consolidateCommand } = await import('./memoryConsolidate.ts')
      return consolidateCommand(notes, all, shell, refuse)
    }
  }
}

function none(cwd: string, { memory }: Settings): string {
  const isOn = memory.enabled ?? existsSync(join(cwd, '.memory'))
  if (isOn) return 'No memories here. The agent keeps them in .memory/ at the end of a turn, or when asked to remember.'
  return 'No memories here. They are kept in .memory/ once that folder is there or memory.enabled is true.'
}

const WIDEST_NAME = 40

function table(all: readonly Memory[]): string[] {
  const width = Math.min(WIDEST_NAME, Math.max(...all.map(({ file }) => file.length)))
  return all.map(
    ({ file, type, description }) =>
      `${padTo(printableLine(file), width)}  ${type.padEnd('reference'.length)}  ${printableLine(description)}`,
  )
}

/** By file, with or without its ending, by name, or by the beginning of a file's name that only one has. */
function findMemory(all: readonly Memory[], wanted: string): Result<Memory> {
  const key = foldedName(wanted.replace(/^(?:\.\/)?\.memory\//, ''))
  const exact = all.filter(
    ({ file, name }) =>
      foldedName(file) === key || foldedName(file) === `${key}.md` || foldedName(name) === key || slugOf(name) === key,
  )
  const found = exact.length > 0 ? exact : all.filter(({ file }) => key !== '' && foldedName(file).startsWith(key))
  const [only, ...others] = found
  if (only !== undefined && others.length === 0) return { ok: true, value: only }
  if (only === undefined) {
    const named = JSON.stringify(wanted.length > 80 ? `${wanted.slice(0, 80)}…` : wanted)
    return { ok: false, message: `There is no memory ${named}; agent memory lists the ones there are.` }
  }
  const files = found.map(({ file }) => file).join(', ')
  return { ok: false, message: `${found.length} memories have that name: name one of the files ${files}.` }
}
