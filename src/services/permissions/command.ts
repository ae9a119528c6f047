/** Judging a shell command: what it would run is held against the rules. */
import { isInside } from '../paths.ts'
import type { Rule } from './rule.ts'
import type { RuleSet } from './rules.ts'
import { agrees, coverage } from './shell/allow.ts'
import { forbids, type Unfolded, unfold } from './shell/forbid.ts'
import type { CommandPattern } from './shell/pattern.ts'
import { commandRule } from './suggest.ts'
import type { Policy, Touch, Verdict } from './verdict.ts'

type Execute = Extract<Touch, { kind: 'execute' }>
type CommandRule = Rule & { pattern: CommandPattern }

/** @param rules those about the tool that runs the command */
export function judgeCommand(tool: string, touch: Execute, rules: RuleSet, policy: Policy): Verdict {
  const all = memo(() => unfold(touch.command, parserOf(policy)))
  for (const kind of ['deny', 'ask'] as const) {
    for (const rule of rules[kind]) {
      const verdict = forbidden(rule, kind, tool, all)
      if (verdict !== null) return verdict
    }
  }
  const whole = rules.allow.find(({ specifier }) => specifier.kind === 'any')
  if (whole !== undefined) return { kind: 'allow', rule: whole.text, source: whole.source }
  return allowed(tool, touch, rules.allow.flatMap(withPattern), policy)
}

function memo<T>(make: () => T): () => T {
  let made: { value: T } | null = null
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

function parserOf({ parse }: Policy) {
  if (parse === null) throw new Error('A rule for commands needs the shell parser.')
  return parse
}

function withPattern(rule: Rule): CommandRule[] {
  return rule.specifier.kind === 'command' ? [{ ...rule, pattern: rule.specifier.pattern }] : []
}

function forbidden(rule: Rule, kind: 'deny' | 'ask', tool: string, all: () => Unfolded): Verdict | null {
  const { text, source, specifier } = rule
  const said = (reason: string): Verdict =>
    kind === 'deny' ? { kind, reason, rule: text, source } : { kind, reason, rule: text, source, suggested: [] }
  const verb = kind === 'deny' ? 'denied' : 'to be asked for'
  if (specifier.kind === 'any') return said(`${tool} is ${verb} by the rule ${text} (in ${source}).`)
  if (specifier.kind !== 'command') return null
  const { match, because } = forbids(specifier.pattern, all())
  switch (match) {
    case 'no':
      return null
    case 'yes':
      return said(`This command is ${verb} by the rule ${text} (in ${source}).`)
    case 'maybe':
      return said(
        `It cannot be told whether the rule ${text} (in ${source}) covers this command, because ${because}. Write it out as plain commands.`,
      )
  }
}

function allowed(tool: string, { command, inputs }: Execute, rules: readonly CommandRule[], policy: Policy): Verdict {
  const found = coverage(command, rules)
  if (found.kind === 'uncovered') {
    const suggested = found.commands?.map(commandRule) ?? [null]
    const known = suggested.filter((rule) => rule !== null)
    return {
      kind: 'ask',
      reason: `${tool} runs a command, and that needs approval: ${found.because}.`,
      suggested: known.length === suggested.length ? [...new Set(known)] : [],
    }
  }
  const outside = inputs.find(({ real }) => !isInside(policy.cwd, real))
  if (outside !== undefined)
    return {
      kind: 'ask',
      reason: `The command reads ${outside.given}, which is outside the working directory.`,
      suggested: [],
    }
  if (!agrees(command, parserOf(policy)))
    return {
      kind: 'ask',
      reason: `${tool} runs a command, and that needs approval: it is not a list of plain commands.`,
      suggested: [],
    }
  const [first] = found.rules
  return first === undefined ? { kind: 'allow' } : { kind: 'allow', rule: first.text, source: first.source }
}
