/** Temporary folders of memories, and TypeScript of ours run as a process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { onTestFinished } from 'vitest'
import { createMemory } from '../../../src/services/memory/index.ts'
import type { MemoryPort, NewMemory } from '../../../src/services/memoryPorts.ts'
import type { Result } from '../../../src/services/ports.ts'

export function temporary(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'stepwright-memory-')))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

export interface Opened {
  dir: string
  folder: string
  notes: MemoryPort
  warnings: string[]
  /** Every name in the folder, hidden ones too. */
  names(): string[]
  read(file: string): string
  write(file: string, text: string | Uint8Array): void
}

/** @param dir an existing directory; a new one by default, with a `.memory` in it */
export function open(dir = temporary(), enabled: boolean | null = null): Opened {
  const folder = join(dir, '.memory')
  mkdirSync(folder, { recursive: true })
  const warnings: string[] = []
  return {
    dir,
    folder,
    notes: createMemory({ cwd: dir, enabled, warn: (message) => warnings.push(message) }),
    warnings,
    names: () => readdirSync(folder).sort(),
    read: (file) => readFileSync(join(folder, file), 'utf8'),
    write: (file, text) => writeFileSync(join(folder, file), text),
  }
}

export const note = (name: string, more: Partial<NewMemory> = {}): NewMemory => ({
  name,
  type: 'project',
  description: `About ${name}`,
  body: `Text of ${name}.`,
  ...more,
})

export function granted<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(result.message)
  return result.value
}

/** @param source TypeScript that stands in this directory @returns the program's file */
export async function compiled(source: string): Promise<string> {
  const outfile = join(temporary(), 'program.cjs')
  await build({
    stdin: { contents: source, resolveDir: import.meta.dirname, loader: 'ts' },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    logLevel: 'silent',
  })
  return outfile
}

export function start(program: string, ...args: string[]): ChildProcess {
  return spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
}

/** @returns the signal that ended the process, or its exit code, and what it printed */
export function ended(child: ChildProcess): Promise<{ by: string | number | null; stdout: string }> {
  let stdout = ''
  child.stdout?.on('data', (chunk) => {
    stdout += String(chunk)
  })
  return new Promise((resolve) => child.on('close', (code, signal) => resolve({ by: signal ?? code, stdout })))
}
