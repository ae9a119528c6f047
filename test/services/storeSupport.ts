/** What the store's tests share: entries, heads, temporary homes, and child processes that run TypeScript of ours. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import type { NewEntry } from '../../src/machines/journal.ts'
import type { HeadUpdate, Journal, Result, StorePort } from '../../src/services/ports.ts'

export const opened = (session_id: string, cwd: string): NewEntry => ({
  in: 'loadingContext',
  record: { type: 'opened', session_id, cwd, model: 'model-a' },
})

export const prompted = (text: string, cwd = '/project'): NewEntry => ({
  in: 'loadingContext',
  record: {
    type: 'prompt',
    text,
    blocks: [{ type: 'text', text }],
    cwd,
    limits: { max_turns: 250, input_tokens: 160_000 },
  },
})

export const finished = (content: string, id = 'toolu_1'): NewEntry => ({
  in: 'runningTool',
  record: { type: 'toolFinished', id, content, is_error: false, ms: 3 },
})

export const update = (cwd: string, more: Partial<HeadUpdate> = {}): HeadUpdate => ({
  cwd,
  model: 'model-a',
  turns: 1,
  first_prompt: 'do it',
  gauge: 120,
  ...more,
})

/** The journal of a session, which must not be refused. */
export async function held(store: StorePort, id: string): Promise<Journal> {
  return granted(await store.hold(id))
}

export function granted<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(result.message)
  return result.value
}

/** Temporary directories that `clean` removes. */
export function temporaryHomes(): { make(): Promise<string>; clean(): Promise<void> } {
  const made: string[] = []
  return {
    make: async () => {
      const dir = await mkdtemp(join(tmpdir(), 'stepwright-store-'))
      made.push(dir)
      return dir
    },
    clean: async () => {
      for (const dir of made.splice(0)) await rm(dir, { recursive: true, force: true })
    },
  }
}

/** A script of ours, compiled, that child processes can run. */
export async function compiled(dir: string, source: string): Promise<string> {
  const outfile = join(dir, `script-${Math.random().toString(36).slice(2)}.mjs`)
  const here = createRequire(import.meta.url).resolve('../../package.json')
  await build({
    stdin: { contents: source, resolveDir: import.meta.dirname, loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // What jsonc-parser has for CommonJS cannot be bundled.
    mainFields: ['module', 'main'],
    external: ['@photostructure/sqlite'],
    banner: {
      js: `import { createRequire as nodeRequire } from 'node:module'; const require = nodeRequire(${JSON.stringify(here)});`,
    },
    outfile,
  })
  return outfile
}

export interface Finished {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

/** Starts a child, as another user where told, and collects what it writes. */
export function start(
  script: string,
  args: string[],
  as: { uid?: number; gid?: number } = {},
): { child: ChildProcess; ended: Promise<Finished> } {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'], ...as })
  return { child, ended: collected(child) }
}

/** What a child wrote and how it ended. */
export function collected(child: ChildProcess): Promise<Finished> {
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }))
  })
}

interface RawDatabase {
  all(...args: unknown[]): void
  close(callback: (error: Error | null) => void): void
}

/** Runs statements on a database beside the store, one after the other; gives the rows of the last. */
export async function sql(
  file: string,
  ...statements: Array<[text: string, ...values: unknown[]]>
): Promise<unknown[]> {
  const { Database } = createRequire(import.meta.url)('sqlite3')
  const database = await new Promise<RawDatabase>((resolve, reject) => {
    const made = new Database(file, (error: Error | null) => (error ? reject(error) : resolve(made)))
  })
  let rows: unknown[] = []
  for (const [text, ...values] of statements) {
    rows = await new Promise((resolve, reject) => {
      database.all(text, ...values, (error: Error | null, found: unknown[]) => (error ? reject(error) : resolve(found)))
    })
  }
  await new Promise((resolve) => database.close(resolve))
  return rows
}
