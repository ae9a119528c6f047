/**
 * Puts one set of memories in the place of another so that a crash at any moment leaves the old set or the new one.
 *
 * The new files and a plan are written aside into a folder of their own; one rename makes that folder the swap that
 * is to be carried out. From then on every start of an agent carries it on to its end: new files first, then the
 * index, which says what counts, then the old files go. Each step can be done twice.
 */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { namesIn, readSmall, writeNew } from './folder.ts'

const SWAP = '.swap'
const PLAN = 'plan.json'
/** Written aside and never made the swap, or carried out and not yet removed; a file that was never given its name. */
const LEFTOVER = /^\.(?:swap-[0-9a-f]+|[0-9a-f]{12}\.tmp)$/

/** A file as the swap wants it. */
export interface NewFile {
  file: string
  text: string
}

/** What is to be done. `expected`: SHA-256 of the file that was judged; one that people changed since is left alone. */
interface Plan {
  write: Array<{ file: string; expected: string | null }>
  remove: Array<{ file: string; expected: string }>
}

/**
 * Writes the swap aside and makes it valid. One step a yield, for a test that kills the process in between.
 * @param folder real path of `.memory`, locked
 * @param old the files that the new set replaces, as they were judged
 */
export function* stageSwap(folder: string, old: readonly NewFile[], files: readonly NewFile[]): Generator<string> {
  const aside = join(folder, `.swap-${randomBytes(6).toString('hex')}`)
  mkdirSync(aside, { mode: 0o700 })
  yield 'folder made'
  const before = new Map(old.map(({ file, text }) => [file, hashOf(text)]))
  for (const { file, text } of files) {
    writeNew(join(aside, file), text)
    yield `${file} written aside`
  }
  const plan: Plan = {
    write: files.map(({ file }) => ({ file, expected: before.get(file) ?? null })),
    remove: [...before]
      .filter(([file]) => !files.some((one) => one.file === file))
      .map(([file, expected]) => ({ file, expected })),
  }
  writeNew(join(aside, PLAN), JSON.stringify(plan))
  yield 'plan written'
  renameSync(aside, join(folder, SWAP))
  yield 'swap made valid'
}

/** @returns whether something is left of a swap that did not come to its end. */
export function hasSwap(names: readonly string[]): boolean {
  return names.some((name) => name === SWAP || LEFTOVER.test(name))
}

/** Writes the index anew; given the files that are new and those that are about to go. */
type RenewIndex = (written: readonly string[], removed: readonly string[]) => Promise<void>

/**
 * Carries out the swap that is valid, if there is one, and removes what else is left.
 * @param folder real path of `.memory`, locked
 */
export async function* finishSwap(folder: string, renewIndex: RenewIndex): AsyncGenerator<string> {
  if (existsSync(join(folder, SWAP))) {
    const plan = readPlan(folder)
    if (plan !== null) yield* carryOut(folder, plan, renewIndex)
    renameSync(join(folder, SWAP), join(folder, `.swap-${randomBytes(6).toString('hex')}`))
    yield 'swap ended'
  }
  for (const name of namesIn(folder)) {
    if (LEFTOVER.test(name)) rmSync(join(folder, name), { recursive: true, force: true })
  }
}

async function* carryOut(folder: string, plan: Plan, renewIndex: RenewIndex): AsyncGenerator<string> {
  for (const { file, expected } of plan.write) {
    const source = join(folder, SWAP, file)
    if (!existsSync(source)) continue
    const now = currentHash(folder, file)
    if (now === null || now === expected) renameSync(source, join(folder, file))
    yield `${file} put in place`
  }
  const gone = plan.remove
    .filter(({ file, expected }) => currentHash(folder, file) === expected)
    .map(({ file }) => file)
  const written = plan.write.map(({ file }) => file)
  await renewIndex(written, gone)
  yield 'index written'
  for (const file of gone) {
    unlinkSync(join(folder, file))
    yield `${file} removed`
  }
}

/** A plan is whole: it was on disk before the rename. null where a project brings something else of that name. */
function readPlan(folder: string): Plan | null {
  try {
    if (!lstatSync(join(folder, SWAP)).isDirectory()) return null
    const plan = JSON.parse(readFileSync(join(folder, SWAP, PLAN), 'utf8')) as Partial<Plan>
    const all = [...(plan.write ?? []), ...(plan.remove ?? [])]
    const isSafe = all.every(({ file }) => typeof file === 'string' && /^[^./\\][^/\\]*\.md$/i.test(file))
    return isSafe ? { write: plan.write ?? [], remove: plan.remove ?? [] } : null
  } catch {
    return null
  }
}

function currentHash(folder: string, file: string): string | null {
  const read = readSmall(folder, file)
  if (read.kind === 'missing') return null
  return read.kind === 'text' ? hashOf(read.text) : 'unreadable'
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
