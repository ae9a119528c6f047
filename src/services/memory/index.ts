/**
 * Long-term memory: notes in `.memory` of the working directory, listed in `MEMORY.md`. Several agents may work on
 * one folder; whatever writes holds its lock. Decisions are in docs/decisions/0009-memory.md.
 */
import { unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../machines/errorText.ts'
import type { AddedMemories, KnownMemory, Memory, MemoryPort, NewMemory } from '../memoryPorts.ts'
import { once } from '../once.ts'
import type { Result } from '../ports.ts'
import { parseMemory, renderMemory } from './file.ts'
import {
  INDEX_BYTES,
  INDEX_FILE,
  lookAtFolder,
  makeFolder,
  memoryFiles,
  namesIn,
  readSmall,
  writeWhole,
} from './folder.ts'
import { renewIndex, shownIndex } from './indexFile.ts'
import { cleaned, sameText } from './item.ts'
import { whileLocked } from './lock.ts'
import { foldedName, freeFile, slugOf } from './slug.ts'
import { finishSwap, hasSwap, type NewFile, stageSwap } from './swap.ts'

export interface MemoryOptions {
  /** Working directory, absolute. */
  cwd: string
  /** `memory.enabled`; null: on where the folder is. Where it is false nobody makes a memory. */
  enabled: boolean | null
  /** Takes sentences about files that cannot be used. */
  warn: (message: string) => void
}

/** @returns the memory of a working directory */
export function createMemory({ cwd, enabled, ...options }: MemoryOptions): MemoryPort {
  const warn = once(options.warn)
  return {
    isOn() {
      const folder = lookAtFolder(cwd)
      if (folder.kind === 'unusable') warn(folder.reason)
      return folder.kind === 'usable' || (folder.kind === 'missing' && enabled === true)
    },
    async index() {
      const folder = await settledFolder(cwd)
      if (folder === null) return ''
      const read = readSmall(folder, INDEX_FILE, INDEX_BYTES)
      return read.kind === 'text' ? shownIndex(read.text, memoryFiles(namesIn(folder))) : ''
    },
    async list() {
      const folder = await settledFolder(cwd)
      return folder === null ? [] : readAll(folder, warn)
    },
    add: (items) => attempt(() => addAll(cwd, items)),
    remove: (file) => attempt(() => removeOne(cwd, file)),
    replace: (old, items) => attempt(() => replaceAll(cwd, old, items)),
  }
}

async function attempt<T>(work: () => Promise<T>): Promise<Result<T>> {
  try {
    return { ok: true, value: await work() }
  } catch (error) {
    return { ok: false, message: messageOf(error) }
  }
}

/** @returns the folder with no swap left open in it; null where there is none that can be used */
async function settledFolder(cwd: string): Promise<string | null> {
  const folder = lookAtFolder(cwd)
  if (folder.kind !== 'usable') return null
  // One that cannot be finished (a folder that may only be read) leaves the old set, which is as good.
  if (hasSwap(namesIn(folder.path))) await attempt(() => whileLocked(folder.path, () => settle(folder.path)))
  return folder.path
}

/** Carries an unfinished swap to its end; the folder is locked. */
async function settle(folder: string): Promise<void> {
  const renew = async (written: readonly string[], removed: readonly string[]) => {
    const left = (await readAll(folder)).filter(({ file }) => !removed.includes(file))
    writeIndex(folder, left, written)
  }
  for await (const _ of finishSwap(folder, renew));
}

async function readAll(folder: string, warn: (message: string) => void = () => {}): Promise<Memory[]> {
  const memories: Memory[] = []
  for (const file of memoryFiles(namesIn(folder))) {
    const read = readSmall(folder, file)
    const memory = read.kind === 'text' ? await parseMemory(file, read.text) : null
    if (memory !== null) memories.push(memory)
    else if (read.kind === 'unreadable') warn(`The memory ${join(folder, file)} is left out: ${read.reason}.`)
  }
  return memories
}

/** @param fresh the files whose line is made anew */
function writeIndex(folder: string, memories: readonly Memory[], fresh: readonly string[]): void {
  const read = readSmall(folder, INDEX_FILE, INDEX_BYTES)
  if (read.kind === 'text' && read.cut) throw new Error(`${join(folder, INDEX_FILE)} is too long; make it shorter`)
  const old = read.kind === 'text' ? read.text : ''
  const text = renewIndex(old, memories, new Set(fresh.map(foldedName)))
  if (text !== old || read.kind !== 'text') writeWhole(folder, INDEX_FILE, text)
}

async function addAll(cwd: string, items: readonly NewMemory[]): Promise<AddedMemories> {
  const folder = makeFolder(cwd)
  return whileLocked(folder, async () => {
    await settle(folder)
    const memories = await readAll(folder)
    const taken = new Set(namesIn(folder).map(foldedName))
    const result: AddedMemories = { added: [], skipped: [] }
    for (const item of items.map(cleaned)) {
      const file = `${slugOf(item.name)}.md`
      const known = whatIsKnown(item, file, taken, memories)
      if (known !== null) {
        result.skipped.push({ name: item.name, ...known })
        continue
      }
      writeWhole(folder, file, await renderMemory(item))
      const memory: Memory = { file, ...item, consolidated: false }
      taken.add(foldedName(file))
      memories.push(memory)
      result.added.push(memory)
    }
    if (result.added.length > 0)
      writeIndex(
        folder,
        memories,
        result.added.map(({ file }) => file),
      )
    return result
  })
}

/** @returns which memory makes this one superfluous: of the same file, description or text; null where none does */
function whatIsKnown(
  item: NewMemory,
  file: string,
  taken: ReadonlySet<string>,
  memories: readonly Memory[],
): KnownMemory | null {
  if (taken.has(foldedName(file))) return { same: 'name', file }
  const described = memories.find((one) => sameText(one.description) === sameText(item.description))
  if (described !== undefined) return { same: 'description', file: described.file }
  const told = memories.find((one) => sameText(one.body) === sameText(item.body))
  return told === undefined ? null : { same: 'body', file: told.file }
}

async function removeOne(cwd: string, file: string): Promise<void> {
  const folder = makeFolder(cwd)
  await whileLocked(folder, async () => {
    await settle(folder)
    if (!memoryFiles(namesIn(folder)).includes(file)) throw new Error(`${file} is no memory`)
    // The index first: a line that names nothing is worse than a file that no line names.
    writeIndex(
      folder,
      (await readAll(folder)).filter((memory) => memory.file !== file),
      [],
    )
    unlinkSync(join(folder, file))
  })
}

async function replaceAll(cwd: string, old: readonly Memory[], items: readonly NewMemory[]): Promise<Memory[]> {
  const folder = makeFolder(cwd)
  return whileLocked(folder, async () => {
    await settle(folder)
    const judged = old.map(({ file }): NewFile => {
      const read = readSmall(folder, file)
      return { file, text: read.kind === 'text' ? read.text : '' }
    })
    const now = await Promise.all(judged.map(({ file, text }) => parseMemory(file, text)))
    const isSame = now.every((memory, i) => JSON.stringify(memory) === JSON.stringify(old[i]))
    if (!isSame) throw new Error('the memories were changed meanwhile')
    const others = namesIn(folder).filter((name) => !old.some(({ file }) => file === name))
    const made = await filesFor(items, others)
    for (const _ of stageSwap(
      folder,
      judged,
      made.map(({ file, text }) => ({ file, text })),
    ));
    await settle(folder)
    return made.map(({ memory }) => memory)
  })
}

async function filesFor(items: readonly NewMemory[], others: readonly string[]) {
  const taken = new Set(others.map(foldedName))
  const made: Array<NewFile & { memory: Memory }> = []
  for (const item of items.map(cleaned)) {
    const file = freeFile(item.name, item.body, taken)
    taken.add(foldedName(file))
    made.push({ file, text: await renderMemory(item, true), memory: { file, ...item, consolidated: true } })
  }
  return made
}
