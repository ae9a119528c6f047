/** From the grammar's tree to the simple commands in it, wherever they stand: lists, bodies, substitutions. */
import type { Node } from './grammar.ts'
import { evaluate, type Word } from './words.ts'

export interface SimpleCommand {
  words: Word[]
  /** What its standard input is, where the command line says so. */
  input: 'inherited' | 'given'
}

export interface Reading {
  commands: SimpleCommand[]
  /** Types of the tree's nodes: what else there is in the command line. */
  kinds: ReadonlySet<string>
  redirections: number
  /** Files that are redirected from and to. */
  redirects: Array<{ use: 'read' | 'write'; word: Word }>
  /** The parser met something it does not know, or there is more than was looked at; what was read is a part. */
  broken: boolean
}

/** Nodes in each other; `a && b && c` is one more for each. The parser itself fails far below, and takes long before. */
const DEEPEST = 500

/** @returns what the tree of a command line holds */
export function commandsIn(root: Node): Reading {
  const commands: SimpleCommand[] = []
  const kinds = new Set<string>()
  const redirects: Reading['redirects'] = []
  let redirections = 0
  // Not by recursion: a command line may be nested deeper than the stack is.
  const open: Array<{ node: Node; input: SimpleCommand['input']; depth: number }> = []
  open.push({ node: root, input: 'inherited', depth: 0 })
  let tooDeep = false
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, input, depth } = next
    kinds.add(node.type)
    if (node.type === 'file_redirect') {
      redirections += 1
      redirects.push(...redirectOf(node))
    }
    const command = commandOf(node, input)
    if (command !== null) commands.push(command)
    if (depth === DEEPEST) {
      tooDeep = true
      continue
    }
    const inside = children(node).map((child, i) => ({ node: child, input: inputOf(node, i, input), depth: depth + 1 }))
    for (const child of inside.reverse()) open.push(child)
  }
  return { commands, kinds, redirections, redirects, broken: root.hasError || tooDeep }
}

function children(node: Node): Node[] {
  return node.children.filter((child): child is Node => child !== null)
}

/** All but the first of a pipeline read from it; a redirection or here-document feeds what it stands behind. */
function inputOf(parent: Node, index: number, inherited: SimpleCommand['input']): SimpleCommand['input'] {
  if (parent.type === 'pipeline') return index > 0 ? 'given' : inherited
  if (parent.type === 'redirected_statement' && feeds(parent)) return 'given'
  return inherited
}

function feeds(node: Node): boolean {
  return children(node).some(
    ({ type, text }) =>
      type === 'heredoc_redirect' || type === 'herestring_redirect' || (type === 'file_redirect' && text.includes('<')),
  )
}

/** Nodes that are a command each; the builtins among them are nodes of their own kind in this grammar. */
function commandOf(node: Node, input: SimpleCommand['input']): SimpleCommand | null {
  switch (node.type) {
    case 'command':
      return { words: wordsOf(node).map(evaluate), input: feeds(node) ? 'given' : input }
    case 'declaration_command':
    case 'unset_command':
    case 'test_command':
      return { words: wordsOf(node).map(evaluate), input }
    default:
      return null
  }
}

/** After `<&` and `>&` a number is a descriptor. */
function redirectOf(node: Node): Reading['redirects'] {
  const [target] = node.childrenForFieldName('destination')
  const operator = children(node).find(({ type }) => /[<>]/.test(type))?.type
  if (target == null || operator === undefined) return []
  const word = evaluate(target.text)
  if (/^[<>]&/.test(operator) && word.kind === 'literal' && /^(?:\d+-?|-)$/.test(word.value)) return []
  return [{ use: operator.startsWith('<') ? 'read' : 'write', word }]
}

/** What stands beside the words of a command. */
const BESIDE: ReadonlySet<string> = new Set([
  'file_redirect',
  'heredoc_redirect',
  'herestring_redirect',
  'variable_assignment',
  'comment',
])

function wordsOf(command: Node): string[] {
  const parts: Node[] = []
  for (const child of children(command)) {
    // Assignments before a command's name are no words of it; behind `export` they are.
    if (BESIDE.has(child.type) && !(child.type === 'variable_assignment' && command.type !== 'command')) continue
    parts.push(child)
  }
  return [...joined(parts, command), ...afterRedirections(command)]
}

/** Nodes without space between them are one word; bash joins lines at a backslash, this grammar parts words there. */
function joined(parts: Node[], command: Node): string[] {
  const { text, startIndex } = command
  const words: string[] = []
  let end = startIndex
  for (const part of parts) {
    const between = text.slice(end - startIndex, part.startIndex - startIndex)
    if (words.length > 0 && /^(?:\\\n)*$/.test(between)) words[words.length - 1] += part.text
    else words.push(part.text)
    end = part.endIndex
  }
  return words
}

/** In `git >log push origin` this grammar takes `push` and `origin` for further targets of the redirection. */
function afterRedirections(command: Node): string[] {
  const { parent } = command
  const own = children(command)
  const around =
    parent?.type === 'redirected_statement' && children(parent)[0]?.id === command.id ? children(parent) : []
  return [...own, ...around]
    .filter(({ type }) => type === 'file_redirect')
    .flatMap((redirect) => redirect.childrenForFieldName('destination').slice(1))
    .flatMap((node) => (node === null ? [] : [node.text]))
}
