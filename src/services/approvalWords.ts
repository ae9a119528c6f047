/** What an approval covers, in words: for whoever asks, and for whoever lists what was approved. Pure. */
import type { Approval, Question } from './ports.ts'
import { describeCall, printableLine } from './text.ts'

/** @returns what "for this session" allows besides this call: what the rules say, or only the very same call again */
export function sessionScope({ tool, rules }: Pick<Question, 'tool' | 'rules'>): string {
  if (rules.length > 0) return rules.map(ruleWords).join(', ')
  return tool === 'bash' ? 'exactly this command' : 'exactly this call'
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
