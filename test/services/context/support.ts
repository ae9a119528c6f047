/** A temporary directory with files in it, and the context service looking at it. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type ContextOptions, createContext } from '../../../src/services/context/index.ts'
import type { ContextPort } from '../../../src/services/ports.ts'

export interface Place {
  /** Absolute and real. */
  dir: string
  /** Stands for the user's home; empty at first. */
  home: string
  /** What was warned about, with the directory's path left out. */
  warnings: string[]
  /** Writes files, parents made; gives the absolute path of the first. */
  write(files: Record<string, string | Buffer>): string
  /** A context that works in a sub-directory ('' for the directory itself). */
  context(at?: string, options?: Partial<ContextOptions>): ContextPort
  /** The system prompt there. */
  system(at?: string, options?: Partial<ContextOptions>): Promise<string>
  /** Runs git in a sub-directory, without the user's configuration. */
  git(at: string, ...args: string[]): string
  remove(): void
}

export function makePlace(): Place {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'stepwright-context-')))
  const dir = join(root, 'work')
  const home = join(root, 'home')
  mkdirSync(dir)
  mkdirSync(home)
  const warnings: string[] = []
  const context = (at = '', options: Partial<ContextOptions> = {}): ContextPort =>
    createContext({
      cwd: join(dir, at),
      tools: [],
      now: () => new Date(2026, 2, 1, 12),
      env: process.env,
      home,
      appendSystemPrompt: null,
      trusted: false,
      warn: (message) => warnings.push(message.replaceAll(`${dir}/`, '').replaceAll(`${root}/`, '')),
      role: 'main',
      ...options,
    })
  return {
    dir,
    home,
    warnings,
    write(files) {
      const paths = Object.entries(files).map(([name, content]) => {
        const path = join(dir, name)
        mkdirSync(dirname(path), { recursive: true })
        writeFileSync(path, content)
        return path
      })
      return paths[0] ?? dir
    },
    context,
    system: async (at, options) => (await context(at, options).read()).system,
    git: (at, ...args) => {
      const env = { PATH: process.env.PATH, HOME: home, GIT_CONFIG_NOSYSTEM: '1' }
      const identity = ['-c', 'user.name=T', '-c', 'user.email=t@example.com', '-c', 'protocol.file.allow=always']
      return execFileSync('git', [...identity, ...args], { cwd: join(dir, at), env, encoding: 'utf8', stdio: 'pipe' })
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  }
}

/** @returns how often a word is in a text. */
export function times(text: string, word: string): number {
  return text.split(word).length - 1
}

/** @returns the words in the order of their first appearance; those that are absent are left out. */
export function orderOf(text: string, ...words: string[]): string[] {
  return words.filter((word) => text.includes(word)).sort((a, b) => text.indexOf(a) - text.indexOf(b))
}
