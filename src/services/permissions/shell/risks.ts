/** Whether a command goes beyond what a rule with a star means. */
import type { PlainWord } from './plain.ts'
import { CHANGES_THE_SHELL, RISKS, type Risk, SAME } from './riskTable.ts'
import { isPlainSed } from './sed.ts'
import { SHELLS, WRAPPERS } from './unwrap.ts'

/**
 * @param words a command's words
 * @param spelled words that the rule gives in full: those are covered
 * @returns what an allow rule with a star does not cover in it, as a clause ("git -c …"), or null
 */
export function riskOf(words: readonly PlainWord[], spelled: ReadonlySet<string>): string | null {
  const [first, ...rest] = words
  if (first === undefined) return null
  const name = programOf(first.value)
  if (runsOthers(name)) return `${first.value} runs other programs`
  if (CHANGES_THE_SHELL.has(name)) return `${first.value} changes how the shell works`
  const risks = risksOf(name, rest)
  if (risks.length === 0 && name !== 'sed') return null
  const isCovered = (word: PlainWord): boolean => spelled.has(word.value)
  // A file in the directory may be called `-o…`.
  const glob = rest.find((word) => word.glob && /^[-*?[]/.test(word.value) && !isCovered(word))
  if (glob !== undefined) return `${glob.value} may stand for an option of ${first.value}`
  if (name === 'sed') {
    return isPlainSed(rest.filter((word) => !isCovered(word)).map(({ value }) => value))
      ? null
      : `this script or option of ${first.value} may write a file or run a program`
  }
  const risky = rest.find((word) => !isCovered(word) && risks.some((risk) => isRisky(word.value, risk)))
  if (risky !== undefined) return `${first.value} ${risky.value} may write a file or run a program`
  if (risks.some((risk) => risk.readsCode) && !rest.some(isOperand) && !rest.some(isCovered))
    return `${first.value} runs what it reads from its standard input`
  const early = earlyOption(rest, risks)
  return early === null || spelled.has(early) ? null : `${first.value} ${early} changes how it works`
}

/** @returns whether the program is there to run others: no rule with a star allows it */
export function runsOthers(name: string): boolean {
  return SHELLS.has(name) || WRAPPERS.has(name)
}

/** @returns the name that the list goes by: no directory, no version, one name for all that are the same */
export function programOf(word: string): string {
  const base = word.split('/').at(-1) ?? word
  const plain = /^(python|perl|ruby|lua|php|node|gcc|clang|pypy)[\d.-]+$/.exec(base)?.[1] ?? base
  return Object.hasOwn(SAME, plain) ? (SAME[plain] ?? plain) : plain
}

function risksOf(name: string, rest: readonly PlainWord[]): Risk[] {
  const sub = rest.find(({ value }) => !value.startsWith('-'))?.value ?? ''
  return [name, `${name} ${sub}`].flatMap((key) => {
    const risk = Object.hasOwn(RISKS, key) ? RISKS[key] : undefined
    return risk === undefined ? [] : [risk]
  })
}

/** A file to run, or a question that runs nothing. */
function isOperand({ value }: PlainWord): boolean {
  return !value.startsWith('-') || /^(?:-[vV]|--version|--help|--test)$/.test(value)
}

function isRisky(word: string, { options = '', words, whole }: Risk): boolean {
  if (words?.test(word)) return true
  if (!/^-./.test(word)) return false
  return options.split(' ').some((option) => option !== '' && isSpelling(word, option, whole))
}

function isSpelling(word: string, option: string, whole: true | undefined): boolean {
  if (option.startsWith('--')) {
    const name = word.split('=')[0] ?? ''
    return whole ? name === option : name.length > 2 && name.startsWith('--') && option.startsWith(name)
  }
  return !word.startsWith('--') && word.includes(option.slice(1))
}

function earlyOption(rest: readonly PlainWord[], risks: readonly Risk[]): string | null {
  const before = risks.find((risk) => risk.before !== undefined)?.before
  if (before === undefined) return null
  for (const { value } of rest) {
    if (!value.startsWith('-')) return null
    if (!before.test(value)) return value
  }
  return null
}
