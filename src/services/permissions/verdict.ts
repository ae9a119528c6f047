/** What judging a call comes to, before it is said how to allow it. */

export type Verdict =
  | { kind: 'allow'; rule?: string; source?: string }
  /** `suggested`: rules that would allow it, together; none where no rule can. */
  | { kind: 'ask'; reason: string; suggested: string[]; rule?: string; source?: string }
  | { kind: 'deny'; reason: string; rule: string; source: string }

/** @returns the sentence for the model: what would allow the call, and what to do now */
export function howToAllow(suggested: readonly string[]): string {
  const rules = suggested.map((rule) => JSON.stringify(rule)).join(', ')
  const how =
    suggested.length === 0
      ? 'the user can run again with --yes; no allow rule covers it'
      : `the user can run again with --yes, or add ${rules} to permissions.allow in their settings.json`
  return `To allow it, ${how}. Go on with what can be done without it, and say what is left.`
}
