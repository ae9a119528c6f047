/** The permissions of a run: looks up what deciding needs, decides, and asks a person where there is one. */
import { messageOf } from '../../machines/errorText.ts'
import type { ToolUseBlock } from '../../machines/messages.ts'
import { absolutePath, realTarget } from '../paths.ts'
import type { Approval, AskPerson, CallEffect, Decision, PermissionPort, Result } from '../ports.ts'
import { areFilesRuled, commandFiles } from './commandFiles.ts'
import { decide } from './decide.ts'
import { parseRule, type Rule } from './rule.ts'
import { compileRules, type RuleSet, type RuleTexts, rulesFor } from './rules.ts'
import { coverage } from './shell/allow.ts'
import { loadGrammar, type WithTree } from './shell/grammar.ts'
import { readPlain } from './shell/plain.ts'
import type { Policy, Touch, TouchedPath } from './verdict.ts'

export interface PermissionOptions {
  /** The working directory as a real path. */
  cwd: string
  /** The user's home directory. */
  home: string
  /** The agent's home. */
  agentHome: string
  /** `--yes`: what would ask is approved. */
  yes: boolean
  /** More directories whose files may be read, as real paths. */
  readable?: readonly string[]
  rules: RuleTexts
  /** Asks the user; null where nobody can be asked. */
  ask?: AskPerson | null
  /** Adds rules to `permissions.allow` of the user's settings. */
  keep?: (rules: string[]) => Promise<Result<null>>
  warn?: (message: string) => void
}

/** @returns the port, or one sentence where a rule that forbids or asks is not understood */
export async function createPermissions(options: PermissionOptions): Promise<Result<PermissionPort>> {
  const { cwd, home, agentHome, warn = () => {} } = options
  const compiled = await compileRules(options.rules, { cwd, home })
  if (!compiled.ok) return compiled
  for (const warning of compiled.value.warnings) warn(warning)
  const place = { cwd, home, agentHome: realTarget(agentHome), readable: options.readable ?? [] }
  return { ok: true, value: new Permissions(options, { ...place, rules: compiled.value.rules }) }
}

class Permissions implements PermissionPort {
  readonly #options: PermissionOptions
  readonly #policy: Omit<Policy, 'parse'>
  /** Calls the user approved for this session that no rule can name. */
  readonly #approved = new Set<string>()
  readonly #approvals: Approval[] = []
  readonly #hiding: Rule[]
  /** One question at a time. */
  #asking: Promise<unknown> = Promise.resolve()

  constructor(options: PermissionOptions, policy: Omit<Policy, 'parse'>) {
    this.#options = options
    this.#policy = policy
    this.#hiding = policy.rules.deny.filter(({ tools, specifier }) => tools?.has('grep') && specifier.kind === 'path')
  }

  async decide(call: ToolUseBlock, effect: CallEffect): Promise<Decision> {
    const touch = touchOf(call, effect, this.#policy.cwd)
    const decision = await this.#judge(call, touch)
    const approved = decision.kind === 'ask' && (this.#options.yes || this.#approved.has(keyOf(call)))
    const final: Decision = approved ? { kind: 'allow' } : decision
    return 'paths' in touch ? { ...final, paths: touch.paths } : final
  }

  async settle(call: ToolUseBlock, effect: CallEffect, signal: AbortSignal): Promise<Decision> {
    const first = await this.decide(call, effect)
    const { ask = null } = this.#options
    if (first.kind !== 'ask' || ask === null) return first
    const turn = this.#asking.then(() => this.#askFor(ask, call, effect, signal))
    this.#asking = turn.catch(() => undefined)
    return turn
  }

  hides(path: string): boolean {
    return this.#hiding.some(({ specifier }) => specifier.kind === 'path' && specifier.pattern.matches(path))
  }

  approvals(): Approval[] {
    return [...this.#approvals]
  }

  async #judge(call: ToolUseBlock, touch: Touch): Promise<Decision> {
    let parse: WithTree | null = null
    if (touch.kind === 'execute' && needsGrammar(touch.command, call.name, this.#policy.rules)) {
      try {
        parse = await loadGrammar()
      } catch (error) {
        const reason = `The shell parser could not be loaded (${messageOf(error)}), and the rules for commands need it.`
        return { kind: 'deny', reason, howToAllow: 'Tell the user to install the agent again.' }
      }
    }
    const whole =
      touch.kind === 'execute' && parse !== null && areFilesRuled(this.#policy.rules)
        ? { ...touch, files: commandFiles(touch.command, this.#policy.cwd, parse) }
        : touch
    return decide(call.name, whole, { ...this.#policy, parse })
  }

  async #askFor(ask: AskPerson, call: ToolUseBlock, effect: CallEffect, signal: AbortSignal): Promise<Decision> {
    // An answer given meanwhile may cover this call too.
    const decision = await this.decide(call, effect)
    if (decision.kind !== 'ask') return decision
    const { reason, suggested, paths } = decision
    const allow: Decision = { kind: 'allow', ...(paths && { paths }) }
    const answer = await ask(
      { tool: call.name, call, subject: subjectOf(call, effect, paths), reason, rules: suggested },
      signal,
    )
    switch (answer.kind) {
      case 'once':
        return allow
      case 'session':
        await this.#approve(call, suggested)
        return allow
      case 'always':
        if (await this.#keep(suggested)) await this.#hold(suggested)
        else await this.#approve(call, suggested)
        return allow
      case 'no': {
        const said = answer.why === null ? '' : ` They say: ${answer.why}${/[.!?…]$/.test(answer.why) ? '' : '.'}`
        return { kind: 'deny', reason: `The user said no to this call.${said}`, howToAllow: NO_MEANS_NO }
      }
    }
  }

  async #approve(call: ToolUseBlock, rules: readonly string[]): Promise<void> {
    if (rules.length === 0) {
      this.#approved.add(keyOf(call))
      this.#approvals.push({ kind: 'call', call })
    }
    await this.#hold(rules)
    this.#approvals.push(...rules.map((rule) => ({ kind: 'rule' as const, rule })))
  }

  async #hold(rules: readonly string[]): Promise<void> {
    for (const text of rules) {
      const parsed = await parseRule(text, 'allow', 'this session', this.#policy)
      if (parsed.kind === 'rule') this.#policy.rules.allow.push(parsed.rule)
    }
  }

  /** @returns whether the rules are in the settings now */
  async #keep(rules: string[]): Promise<boolean> {
    const { keep, warn = () => {} } = this.#options
    if (rules.length === 0 || keep === undefined) return false
    const kept = await keep(rules)
    if (!kept.ok) warn(`The rule holds for this session only: ${kept.message}`)
    return kept.ok
  }
}

const NO_MEANS_NO = 'Do not try to reach the same in another way; ask what to do instead if it is not clear.'

function keyOf({ name, input }: ToolUseBlock): string {
  return JSON.stringify([name, input])
}

function touchOf(call: ToolUseBlock, effect: CallEffect, cwd: string): Touch {
  switch (effect.kind) {
    case 'none':
      return { kind: 'none', names: Object.values(call.input).filter((value) => typeof value === 'string') }
    case 'read':
    case 'write':
      return { kind: effect.kind, paths: effect.paths.map(touched) }
    case 'execute': {
      const reading = readPlain(effect.command)
      const inputs = reading.kind === 'plain' ? reading.commands.flatMap((command) => command.inputs) : []
      return { ...effect, inputs: inputs.map((path) => touched(absolutePath(path, cwd))), files: [] }
    }
  }
}

function touched(given: string): TouchedPath {
  return { given, real: realTarget(given) }
}

function needsGrammar(command: string, tool: string, rules: RuleSet): boolean {
  const isForCommands = ({ specifier }: Rule): boolean => specifier.kind === 'command'
  if ([...rulesFor(rules.deny, tool), ...rulesFor(rules.ask, tool)].some(isForCommands)) return true
  if (areFilesRuled(rules)) return true
  const allowing = rulesFor(rules.allow, tool).flatMap((rule) =>
    rule.specifier.kind === 'command' ? [{ pattern: rule.specifier.pattern }] : [],
  )
  return allowing.length > 0 && coverage(command, allowing).kind === 'covered'
}

function subjectOf(call: ToolUseBlock, effect: CallEffect, paths: Decision['paths'] = []): string {
  switch (effect.kind) {
    case 'execute':
      return effect.command
    case 'read':
    case 'write':
      return paths.map(({ given, real }) => (given === real ? given : `${given} (leads to ${real})`)).join('\n')
    case 'none':
      return JSON.stringify(call.input)
  }
}
