/**
 * Whether a call may run: the one place that decides, pure. Deny before ask before allow; then reading inside the
 * working directory and tools without effects; everything else asks (contract.md, section 8).
 */
import { isInside } from '../paths.ts'
import type { Decision } from '../ports.ts'
import { judgeCommand } from './command.ts'
import { protectedPart } from './protectedPaths.ts'
import type { Rule } from './rule.ts'
import { type RuleSet, rulesFor } from './rules.ts'
import { pathRule } from './suggest.ts'
import { type FileTouch, howToAllow, type Policy, type Touch, type TouchedPath, type Verdict } from './verdict.ts'

/** @returns the decision, with the rule it rests on where there is one */
export function decide(tool: string, touch: Touch, policy: Policy): Decision {
  const verdict = judge(tool, touch, policy)
  switch (verdict.kind) {
    case 'allow':
      return verdict
    case 'deny':
      return { ...verdict, howToAllow: 'A deny rule holds whatever else is set; go on without this.' }
    case 'ask':
      return { ...verdict, howToAllow: howToAllow(verdict.suggested) }
  }
}

function judge(tool: string, touch: Touch, policy: Policy): Verdict {
  const { rules } = policy
  const own: RuleSet = {
    deny: forbidding(rules.deny, tool),
    ask: forbidding(rules.ask, tool),
    allow: rulesFor(rules.allow, tool),
  }
  switch (touch.kind) {
    case 'none':
      return judgeNames(tool, touch.names, own)
    case 'read':
    case 'write':
      return judgePaths(tool, touch, own, policy)
    case 'execute':
      return judgeExecution(tool, touch, own, policy)
  }
}

/** An edit says what stands in a file and what does not: it reads it too. */
function forbidding(rules: readonly Rule[], tool: string): Rule[] {
  const own = rulesFor(rules, tool)
  if (tool !== 'edit_file') return own
  return [
    ...own,
    ...rulesFor(rules, 'read_file').filter((rule) => rule.specifier.kind === 'path' && !own.includes(rule)),
  ]
}

function judgeExecution(
  tool: string,
  touch: Extract<Touch, { kind: 'execute' }>,
  own: RuleSet,
  policy: Policy,
): Verdict {
  const denied = judgeFiles(touch.files, 'deny', policy.rules)
  if (denied !== null) return denied
  const verdict = judgeCommand(tool, touch, own, policy)
  return verdict.kind === 'deny' ? verdict : (judgeFiles(touch.files, 'ask', policy.rules) ?? verdict)
}

/** Rules about files hold for those that a command names; a rule for a file tool as a whole is about that tool. */
function judgeFiles(files: readonly FileTouch[], kind: 'deny' | 'ask', rules: RuleSet): Verdict | null {
  const about = { read: rulesFor(rules[kind], 'read_file'), write: rulesFor(rules[kind], 'edit_file') }
  for (const { use, given, real } of files) {
    const rule = about[use].find(
      ({ specifier }) =>
        specifier.kind === 'path' &&
        (specifier.pattern.covers(real) || (given !== real && specifier.pattern.covers(given))),
    )
    if (rule !== undefined)
      return by(
        rule,
        kind,
        kind === 'deny'
          ? `the command would ${use} ${given}, which a rule denies`
          : `a rule wants ${given} to be asked for, and the command would ${use} it`,
      )
  }
  return null
}

function judgeNames(tool: string, names: string[], rules: RuleSet): Verdict {
  const hit = ({ specifier }: Rule): boolean =>
    specifier.kind === 'any' || (specifier.kind === 'name' && names.includes(specifier.name))
  const denied = rules.deny.find(hit)
  if (denied !== undefined) return by(denied, 'deny', `${tool} is denied by a rule`)
  const asked = rules.ask.find(hit)
  return asked === undefined ? { kind: 'allow' } : by(asked, 'ask', `a rule wants ${tool} to be asked for`)
}

/** A verdict that rests on a rule; `because` is a clause. */
function by(rule: Rule, kind: 'deny' | 'ask', because: string): Verdict {
  const { text, source } = rule
  const reason = `${upper(because)}: ${text} (in ${source}).`
  return kind === 'deny' ? { kind, reason, rule: text, source } : { kind, reason, rule: text, source, suggested: [] }
}

function upper(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function judgePaths(
  tool: string,
  touch: Extract<Touch, { kind: 'read' | 'write' }>,
  rules: RuleSet,
  policy: Policy,
): Verdict {
  const forbids = (rule: Rule, path: TouchedPath): boolean =>
    covers(rule, path.real, touch.kind) || covers(rule, path.given, touch.kind)
  for (const kind of ['deny', 'ask'] as const) {
    for (const path of touch.paths) {
      const rule = rules[kind].find((each) => forbids(each, path))
      if (rule !== undefined)
        return by(
          rule,
          kind,
          kind === 'deny' ? `${path.given} is denied by a rule` : `a rule wants ${path.given} to be asked for`,
        )
    }
  }
  let allowedBy: Rule | undefined
  for (const path of touch.paths) {
    const inside = isInside(policy.cwd, path.real)
    if (touch.kind === 'read' && (inside || policy.readable.some((root) => isInside(root, path.real)))) continue
    const guarded =
      touch.kind === 'write'
        ? (protectedPart(path.real, policy.agentHome) ?? protectedPart(path.given, policy.agentHome))
        : null
    if (guarded !== null)
      return ask(`${tool} would write to ${shown(path)}, and writes to ${guarded} are always asked for.`, [])
    // Both ends of a link must be covered.
    allowedBy = rules.allow.find((rule) => allows(rule, path.real, inside) && allows(rule, path.given, inside))
    if (allowedBy === undefined) return ask(whyAsked(tool, touch.kind, path, inside), [pathRule(tool, path.real)])
  }
  return allowedBy === undefined ? { kind: 'allow' } : { kind: 'allow', rule: allowedBy.text, source: allowedBy.source }

  function allows({ specifier }: Rule, path: string, inside: boolean): boolean {
    // Without a path a rule means the working directory: what is outside must be named.
    if (specifier.kind === 'any') return inside
    return (
      specifier.kind === 'path' &&
      (specifier.pattern.matches(path) || (touch.kind === 'read' && specifier.pattern.covers(path)))
    )
  }
}

/** A search in a directory that a rule covers whole is forbidden; of others it leaves out what is covered. */
function covers({ specifier }: Rule, path: string, kind: 'read' | 'write'): boolean {
  if (specifier.kind === 'any') return true
  if (specifier.kind !== 'path') return false
  return kind === 'read' ? specifier.pattern.covers(path) : specifier.pattern.matches(path)
}

function whyAsked(tool: string, kind: 'read' | 'write', path: TouchedPath, inside: boolean): string {
  if (!inside)
    return `${shown(path)} is outside the working directory, and ${kind === 'read' ? 'reading' : 'writing'} there needs approval.`
  return `${tool} changes ${shown(path)}, and that needs approval.`
}

function shown({ given, real }: TouchedPath): string {
  return given === real ? given : `${given} (which leads to ${real})`
}

function ask(reason: string, suggested: string[]): Verdict {
  return { kind: 'ask', reason, suggested }
}
