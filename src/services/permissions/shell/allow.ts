/** Rules that allow: every command of the line must be covered, and both readers must see the same line. */
import { commandsIn, type Reading } from './commands.ts'
import type { WithTree } from './grammar.ts'
import { type CommandPattern, matchesExactly } from './pattern.ts'
import { type PlainCommand, type PlainWord, readPlain } from './plain.ts'
import { programOf, riskOf, runsOthers } from './risks.ts'

export type Coverage<Rule> =
  | { kind: 'covered'; rules: Rule[]; inputs: string[] }
  /** `because`: a clause that begins with "it" or names the command. `commands`: rules for these would cover it. */
  | { kind: 'uncovered'; because: string; commands: PlainCommand[] | null }

/**
 * @param rules what is allowed
 * @returns whether the rules cover the command line by the strict reader alone; ask `agrees` before trusting it
 */
export function coverage<Rule extends { pattern: CommandPattern }>(
  command: string,
  rules: readonly Rule[],
): Coverage<Rule> {
  const reading = readPlain(command)
  if (reading.kind === 'refused') return { kind: 'uncovered', because: reading.because, commands: null }
  const { commands } = reading
  const moving = commands.some(({ words }) => /^(?:cd|pushd|popd)$/.test(words[0]?.value ?? ''))
  if (moving && commands.some(({ words }) => programOf(words[0]?.value ?? '') === 'git'))
    // A directory of the project may be a repository of its own whose configuration runs programs.
    return { kind: 'uncovered', because: 'it runs git in another directory', commands: null }
  if (moving && commands.some(({ inputs }) => inputs.length > 0))
    return { kind: 'uncovered', because: 'it reads a file in another directory', commands: null }
  const used: Rule[] = []
  let because: string | null = null
  const open: PlainCommand[] = []
  for (const each of commands) {
    const found = cover(each, rules)
    if (found.kind === 'rule') used.push(found.rule)
    else {
      because ??= found.because
      open.push(each)
    }
  }
  if (because !== null) return { kind: 'uncovered', because, commands: open }
  return { kind: 'covered', rules: used, inputs: commands.flatMap(({ inputs }) => inputs) }
}

function cover<Rule extends { pattern: CommandPattern }>(
  { words }: PlainCommand,
  rules: readonly Rule[],
): { kind: 'rule'; rule: Rule } | { kind: 'none'; because: string } {
  let risk: string | null = null
  for (const rule of rules) {
    if (!matchesExactly(rule.pattern, words)) continue
    if (isExact(rule.pattern)) return { kind: 'rule', rule }
    const spelled = new Set(rule.pattern.words.flatMap((word) => (word.kind === 'literal' ? [word.value] : [])))
    const found = riskOf(words, spelled)
    if (found === null) return { kind: 'rule', rule }
    risk ??= found
  }
  return { kind: 'none', because: risk ?? `no rule allows ${JSON.stringify(textOf(words).slice(0, 200))}` }
}

function textOf(words: readonly PlainWord[]): string {
  return words.map(({ value }) => value).join(' ')
}

function isExact({ words, more }: CommandPattern): boolean {
  return !more && words.every(({ kind }) => kind === 'literal')
}

/** @returns why a rule can never allow anything, or null */
export function isVain(pattern: CommandPattern): string | null {
  const [first] = pattern.words
  if (isExact(pattern) || first?.kind !== 'literal') return null
  return runsOthers(programOf(first.value))
    ? `${first.value} runs other programs, which no rule with a star allows: give the whole command instead`
    : null
}

/** What the tree of a plain command line is made of. */
const PLAIN_NODES: ReadonlySet<string> = new Set(
  (
    'program list pipeline command command_name word string string_content raw_string number concatenation ' +
    'file_redirect file_descriptor redirected_statement'
  ).split(' '),
)

/** @returns whether the grammar sees exactly the commands that the strict reader saw, and nothing else */
export function agrees(command: string, parse: WithTree): boolean {
  const plain = readPlain(command)
  if (plain.kind === 'refused') return false
  const reading = parse(command, commandsIn)
  const redirections = plain.commands.reduce((sum, each) => sum + each.redirections, 0)
  if (reading === null || reading.broken || reading.redirections !== redirections) return false
  if ([...reading.kinds].some((kind) => /\w/.test(kind) && !PLAIN_NODES.has(kind) && !/^\d+$/.test(kind))) return false
  return isSame(plain.commands, reading)
}

function isSame(plain: readonly PlainCommand[], { commands }: Reading): boolean {
  if (plain.length !== commands.length) return false
  return plain.every(({ words }, i) => {
    const others = commands[i]?.words ?? []
    return (
      words.length === others.length &&
      words.every(({ value, glob }, n) => {
        const other = others[n]
        if (other?.kind === 'computed') return false
        return glob ? other?.kind === 'glob' : other?.kind === 'literal' && other.value === value
      })
    )
  })
}
