/** What an approval covers, in words: for whoever asks, and for whoever lists what was approved. Pure. */
import { count } from '../machines/words.ts'
import type { Approval, Question } from './ports.ts'
import { clip, describeCall, printableLine } from './text.ts'

/** @returns what "for this session" allows besides this call: what the rules say, or only the very same call again */
export function sessionScope({ tool, rules }: Pick<Question, 'tool' | 'rules'>): string {
  if (rules.length > 0) return rulesInShort(rules)
  return tool === 'bash' ? 'exactly this command' : 'exactly this call'
}

/** A choice is read at one look; what the rules allow stands above it, with what would be done. */
const READ_AT_ONCE = 160
const FIRST_RULE = 60

/** @returns the rules that were worked out from a call; where they are long, the beginning and what they are */
export function rulesInShort(rules: readonly string[]): string {
  const [first = '', ...others] = rules.map(ruleWords)
  const all = [first, ...others].join(', ')
  if (all.length <= READ_AT_ONCE) return all
  const beginning = clip(first, FIRST_RULE)
  if (others.length === 0) return `${beginning} (exactly what stands above)`
  return `${beginning} and ${count(others.length, 'more rule')} (each exactly a part of what stands above)`
}

/** @returns an approval as it is listed */
export function approvalLine(approval: Approval): string {
  switch (approval.kind) {
    case 'rule':
      return ruleWords(approval.rule)
    case 'call':
      return `${printableLine(approval.call.name)}, exactly: ${describeCall(approval.call, 2_000)}`
  }
}

/** A rule without a specifier is about all that a tool does. */
function ruleWords(rule: string): string {
  return rule.includes('(') ? printableLine(rule) : `every call of ${printableLine(rule)}`
}
