/** The rules of a run, from what the settings say. */
import type { Result } from '../ports.ts'
import type { RuleBase } from './pathPattern.ts'
import { parseRule, type Rule, type RuleList } from './rule.ts'

/** Rules as settings give them, with the file each stands in. */
export type RuleTexts = Record<RuleList, ReadonlyArray<{ rule: string; source: string }>>

export type RuleSet = Record<RuleList, Rule[]>

/**
 * @returns the rules and what to warn of; or, where a rule that denies cannot be understood, one sentence: a run
 *   without it could do what the user forbade
 */
export async function compileRules(
  texts: RuleTexts,
  base: RuleBase,
): Promise<Result<{ rules: RuleSet; warnings: string[] }>> {
  const rules: RuleSet = { allow: [], ask: [], deny: [] }
  const warnings: string[] = []
  for (const list of ['deny', 'ask', 'allow'] as const) {
    for (const { rule: text, source } of texts[list]) {
      const parsed = await parseRule(text, list, source, base)
      const named = `${source}: the rule ${JSON.stringify(text)} in permissions.${list}`
      switch (parsed.kind) {
        case 'rule':
          rules[list].push(parsed.rule)
          if (parsed.warning !== null) warnings.push(`${source}: ${JSON.stringify(text)}: ${parsed.warning}.`)
          break
        case 'foreign':
          warnings.push(`${named} was ignored: ${parsed.because}.`)
          break
        case 'malformed':
          // What would have asked or allowed asks anyway, --yes aside; what would have denied must not be lost.
          if (list !== 'allow')
            return { ok: false, message: `${named} is not understood: ${parsed.because}. Correct or remove it.` }
          warnings.push(`${named} was ignored: ${parsed.because}.`)
      }
    }
  }
  return { ok: true, value: { rules, warnings } }
}

/** @returns those of the rules that are about a tool */
export function rulesFor(rules: readonly Rule[], tool: string): Rule[] {
  return rules.filter(({ tools }) => tools === null || tools.has(tool))
}
