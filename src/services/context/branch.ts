/**
 * The current git branch, read from the repository's files: no process is started unless the files do not tell
 * (reftable). The caller's `GIT_*` never count, and who owns the files does not matter for reading one line.
 */
import { lstatSync, readlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { readHead } from '../files.ts'
import { look } from './files.ts'
import { oneLine } from './show.ts'

/** HEAD and `.git` files hold one line; what is longer is no such file. */
const MAX_BYTES = 4096
const GIT_TIMEOUT_MS = 5_000

/**
 * @returns a function that gives, at each call: the branch's name (also of a branch without commits),
 * `detached at <7 digits>`, or null where there is no repository or its HEAD cannot be understood
 */
export function createBranchReader(cwd: string, env: NodeJS.ProcessEnv): () => Promise<string | null> {
  let asked: { key: string; branch: string | null } | null = null
  return async () => {
    const gitDir = findGitDir(cwd)
    if (gitDir === null) return null
    const head = headOf(gitDir)
    if (head.kind !== 'askGit') return head.branch
    const key = tablesKey(gitDir)
    if (asked === null || key === null || asked.key !== key)
      asked = { key: key ?? '', branch: await askGit(cwd, withoutGit(env)) }
    return asked.branch
  }
}

/**
 * Looks for the repository as git does: in each directory upwards `.git` as a directory, as a file that names
 * one (worktrees, submodules), or the directory itself as a bare repository.
 * @returns the directory that holds HEAD, or null
 */
function findGitDir(cwd: string): string | null {
  for (let directory = cwd; ; directory = dirname(directory)) {
    const dotGit = join(directory, '.git')
    const { kind } = look(dotGit)
    if (kind === 'directory' && hasHead(dotGit)) return dotGit
    if (kind === 'file') return gitDirOfFile(dotGit)
    if (isBare(directory)) return directory
    if (dirname(directory) === directory) return null
  }
}

function hasHead(gitDir: string): boolean {
  // lstat: the HEAD of very old repositories is a symlink, dangling while there is no commit.
  return lstat(join(gitDir, 'HEAD')) !== null
}

function isBare(directory: string): boolean {
  return hasHead(directory) && ['objects', 'refs'].every((name) => lstat(join(directory, name))?.isDirectory() === true)
}

function gitDirOfFile(file: string): string | null {
  const target = /^gitdir: (.+)$/m.exec(readLine(file) ?? '')?.[1]
  if (target === undefined) return null
  const gitDir = resolve(dirname(file), target)
  return hasHead(gitDir) ? gitDir : null
}

type Head = { kind: 'known'; branch: string | null } | { kind: 'askGit' }

function headOf(gitDir: string): Head {
  const file = join(gitDir, 'HEAD')
  const text = lstat(file)?.isSymbolicLink() ? linkAsRef(file) : readLine(file)
  const ref = /^ref:\s*(\S.*)$/.exec(text ?? '')?.[1]?.trim()
  // Written by git for readers that know no reftable (gitrepository-layout, reftable).
  if (ref === 'refs/heads/.invalid') return { kind: 'askGit' }
  // HEAD alone is no name of a branch but the word for having none; one that is really called so is named in full.
  if (ref !== undefined) return { kind: 'known', branch: oneLine(ref.replace(/^refs\/heads\/(?!HEAD$)/, '')) }
  if (text !== null && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text))
    return { kind: 'known', branch: `detached at ${text.slice(0, 7)}` }
  return { kind: 'known', branch: null }
}

function linkAsRef(file: string): string | null {
  try {
    const target = readlinkSync(file)
    return target.startsWith('refs/') ? `ref: ${target}` : readLine(file)
  } catch {
    return null
  }
}

/** @returns the first line of a small regular file without white space at its end, or null. */
function readLine(file: string): string | null {
  if (look(file).kind !== 'file') return null
  const head = readHead(file, MAX_BYTES)
  if (head.kind === 'unreadable' || head.more) return null
  return head.bytes.toString('utf8').split('\n', 1)[0]?.trimEnd() ?? null
}

function lstat(path: string): ReturnType<typeof lstatSync> | null {
  try {
    return lstatSync(path)
  } catch {
    return null
  }
}

/** What changes with every update of a reftable, HEAD included; null where it cannot be told. */
function tablesKey(gitDir: string): string | null {
  const tables = look(join(gitDir, 'reftable', 'tables.list'))
  return tables.kind === 'file' ? `${gitDir} ${tables.key}` : null
}

async function askGit(cwd: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  const branch = await git(['symbolic-ref', '--quiet', '--short', 'HEAD'], cwd, env)
  if (branch !== null) return oneLine(branch)
  const commit = await git(['rev-parse', '--short=7', '--verify', '--quiet', 'HEAD'], cwd, env)
  return commit === null ? null : `detached at ${commit.slice(0, 7)}`
}

async function git(args: string[], cwd: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  // Loaded where it is needed: it would cost every start some milliseconds.
  const { execFile } = await import('node:child_process')
  return new Promise((done) => {
    execFile('git', args, { cwd, env, timeout: GIT_TIMEOUT_MS, encoding: 'utf8' }, (error, stdout) => {
      const line = stdout.trim()
      done(error !== null || line === '' || line.includes('\n') ? null : line)
    })
  })
}

function withoutGit(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.toUpperCase().startsWith('GIT_')))
}
