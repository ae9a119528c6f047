/**
 * The parser: tree-sitter with its bash grammar as WebAssembly. Loaded when the first rule needs it: two files beside
 * the bundle, some 85 ms of processor time (docs/decisions/0010-permissions.md).
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import type { Node, Parser } from 'web-tree-sitter'

export type { Node } from 'web-tree-sitter'

/**
 * Parses a command line and hands its tree to `use`, which must not keep it. null where that cannot be done: it took too
 * long, or broke the parser.
 */
export type WithTree = <T>(command: string, use: (root: Node) => T) => T | null

/** Milliseconds one command line may take; thousands of times what one does. */
const LONGEST = 5_000

let loading: Promise<WithTree> | null = null

/** @returns the parser; rejects where its files are missing, which a broken installation has done */
export function loadGrammar(): Promise<WithTree> {
  loading ??= load()
  return loading
}

async function load(): Promise<WithTree> {
  // V8 would go on to optimise the grammar's one huge function: half a second and more in which the process cannot end.
  setFlagsFromString('--liftoff-only')
  const { Language, Parser } = await import('web-tree-sitter')
  await Parser.init({ wasmBinary: await wasm('web-tree-sitter', 'web-tree-sitter.wasm') })
  const language = await Language.load(await wasm('tree-sitter-bash', 'tree-sitter-bash.wasm'))
  const parser = new Parser()
  parser.setLanguage(language)
  return (command, use) => withTree(parser, command, use)
}

function withTree<T>(parser: Parser, command: string, use: (root: Node) => T): T | null {
  const deadline = performance.now() + LONGEST
  try {
    const tree = parser.parse(command, null, { progressCallback: () => performance.now() > deadline })
    if (tree === null) {
      parser.reset()
      return null
    }
    const result = use(tree.rootNode)
    tree.delete()
    return result
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) return null
    throw error
  }
}

/** A file beside the bundle, or in its package where the sources run. */
async function wasm(packageName: string, name: string): Promise<Uint8Array> {
  const beside = join(dirname(fileURLToPath(import.meta.url)), name)
  const path = existsSync(beside) ? beside : createRequire(import.meta.url).resolve(`${packageName}/${name}`)
  return new Uint8Array(await readFile(path))
}
