/**
 * One permission rule: `tool` or `tool(specifier)`. Claude Code's names mean our tools, so that rules can be carried
 * over: `Bash(git log:*)`, `Edit(src/**)`, `Read(~/notes/**)`.
 */
import { createPathPattern, type PathPattern, type RuleBase } from './pathPattern.ts'
import { isVain } from './shell/allow.ts'
import { type CommandPattern, parsePattern } from './shell/pattern.ts'

export type RuleList = 'allow' | 'ask' | 'deny'

/** What of a tool's calls a rule is about. */
export type Specifier =
  | { kind: 'any' }
  | { kind: 'command'; pattern: CommandPattern }
  | { kind: 'path'; pattern: PathPattern }
  /** One word the call is about: a skill's name. */
  | { kind: 'name'; name: string }

export interface Rule {
  list: RuleList
  /** As written. */
  text: string
  /** The file it stands in, or what it comes from. */
  source: string
  /** Our tools it is about; null for all. */
  tools: ReadonlySet<string> | null
  specifier: Specifier
}

export type ParsedRule =
  | { kind: 'rule'; rule: Rule; warning: string | null }
  /** A rule for a tool that does not exist here: it can do nothing, and harms nothing. */
  | { kind: 'foreign'; because: string }
  | { kind: 'malformed'; because: string }

const OWN = 'bash read_file write_file edit_file glob grep todo_write task load_skill compact remember'.split(' ')

const READERS = ['read_file', 'glob', 'grep']
const EDITORS = ['edit_file', 'write_file']

/** Claude Code's names for what our tools do. */
const OTHER_NAMES: Record<string, readonly string[]> = {
  Bash: ['bash'],
  Read: READERS,
  Edit: EDITORS,
  MultiEdit: EDITORS,
  Write: ['write_file'],
  Glob: ['glob'],
  LS: ['glob'],
  Grep: ['grep'],
  TodoWrite: ['todo_write'],
  Task: ['task'],
  Agent: ['task'],
  Skill: ['load_skill'],
}

/** Its tools that have no counterpart here. */
const FOREIGN =
  /^(?:mcp__.*|WebFetch|WebSearch|NotebookEdit|NotebookRead|BashOutput|KillShell|KillBash|TaskOutput|TaskStop|ExitPlanMode|EnterPlanMode|AskUserQuestion|SlashCommand|PowerShell|Monitor|LSP|ToolSearch)$/

const ANY_COMMAND = /^(?::?\*|\*\*)$/

const PATH_TOOLS: ReadonlySet<string> = new Set([...READERS, ...EDITORS])

/** @param base the directories that paths in it start from */
export async function parseRule(text: string, list: RuleList, source: string, base: RuleBase): Promise<ParsedRule> {
  const [, name = '', inside] = /^\s*([\w*-]+)\s*(?:\(([\s\S]*)\))?\s*$/.exec(text) ?? []
  if (name === '') return malformed('it is not of the form tool or tool(specifier)')
  if (FOREIGN.test(name)) return { kind: 'foreign', because: `there is no tool ${name} here` }
  const tools = toolsOf(name, list)
  if (tools === null && name !== '*') return malformed(`there is no tool ${name}`)
  const rule = { list, text, source, tools: tools === null ? null : new Set(tools) }
  const trimmed = inside?.trim()
  const any: ParsedRule = { kind: 'rule', rule: { ...rule, specifier: { kind: 'any' } }, warning: null }
  if (trimmed === undefined) return any
  if (trimmed === '') return malformed('there is nothing between its parentheses')
  if (tools === null) return malformed('a rule for all tools takes nothing in parentheses')
  if (name === 'bash' || name === 'Bash') return ANY_COMMAND.test(trimmed) ? any : commandRule(rule, trimmed)
  if (tools.every((tool) => PATH_TOOLS.has(tool))) {
    const pattern = await createPathPattern(trimmed, base, list === 'allow' ? 'allow' : 'forbid')
    return pattern.ok
      ? { kind: 'rule', rule: { ...rule, specifier: { kind: 'path', pattern: pattern.value } }, warning: null }
      : malformed(pattern.message)
  }
  const specifier: Specifier = trimmed === '*' ? { kind: 'any' } : { kind: 'name', name: trimmed }
  return { kind: 'rule', rule: { ...rule, specifier }, warning: null }
}

function malformed(because: string): ParsedRule {
  return { kind: 'malformed', because }
}

/** Who forbids `Write(x)` means that x stays as it is; who allows it means no more than it says. */
function toolsOf(name: string, list: RuleList): readonly string[] | null {
  if (OWN.includes(name)) return [name]
  if (name === 'Write' && list !== 'allow') return EDITORS
  return Object.hasOwn(OTHER_NAMES, name) ? (OTHER_NAMES[name] ?? null) : null
}

function commandRule(rule: Omit<Rule, 'specifier'>, specifier: string): ParsedRule {
  const pattern = parsePattern(specifier)
  if (pattern === null) {
    return malformed(
      'a rule names one plain command, such as Bash(npm test) or Bash(git log:*), without operators, variables, assignments or redirections',
    )
  }
  const vain = rule.list === 'allow' ? isVain(pattern) : null
  return {
    kind: 'rule',
    rule: { ...rule, specifier: { kind: 'command', pattern } },
    warning: vain === null ? null : `${vain}. The rule allows nothing`,
  }
}
