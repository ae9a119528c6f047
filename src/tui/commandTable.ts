/** The built-in commands, a row each. */
import { writeFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { wholeInput } from '../machines/messages.ts'
import { count } from '../machines/words.ts'
import { approvalLine } from '../services/approvalWords.ts'
import { printable, printableLine, tokens } from '../services/text.ts'
import { ageOf } from './age.ts'
import { conversationText } from './export.ts'
import type { Hands } from './hands.ts'

export interface Command {
  name: string
  also?: string[]
  about: string
  run(hands: Hands, args: string): unknown
}

const INIT = `Look at this project and write an AGENTS.md for whoever works on it next, people and agents alike. Find out what it is, how it is built, checked and tested (the exact commands, tried out where that is harmless), how it is laid out, and the conventions that cannot be seen from one file. Keep it short and true: at most 60 lines, nothing generic, nothing invented. If there is an AGENTS.md already, improve it and keep what is right.`

export const COMMANDS: Command[] = [
  { name: 'help', also: ['?'], about: 'what can be typed here', run: help },
  { name: 'status', about: 'session, model, tokens, cost', run: status },
  { name: 'model', about: 'show or change the model: /model <name>', run: model },
  {
    name: 'compact',
    about: 'summarise the conversation: /compact [focus]',
    run: (hands, args) => hands.compact(args || null),
  },
  { name: 'clear', also: ['new'], about: 'begin a new session', run: clear },
  { name: 'resume', about: 'go on with an older session: /resume [id]', run: resume },
  { name: 'fork', about: 'a copy of this session from a transition: /fork [k]', run: fork },
  { name: 'trace', about: 'the transitions of this session', run: (hands) => look(hands, ['trace']) },
  { name: 'inspect', about: 'look at this session in the browser', run: inspect },
  { name: 'step', about: 'stop before each service, or no more', run: step },
  { name: 'skills', about: 'the skills there are', run: (hands) => list(hands, ['skills']) },
  { name: 'memory', about: 'what is kept across sessions', run: (hands) => list(hands, ['memory']) },
  { name: 'permissions', about: 'the rules in effect, and what you allowed', run: permissions },
  { name: 'trust', about: 'let the settings of this project count', run: trust },
  { name: 'config', about: 'each setting and where it comes from', run: (hands) => list(hands, ['config']) },
  { name: 'cost', about: 'what this session has used', run: cost },
  { name: 'export', about: 'write the conversation to a file: /export [file.md|file.jsonl]', run: exportTo },
  { name: 'init', about: 'write an AGENTS.md for this project', run: (hands) => hands.send(INIT) },
  { name: 'exit', also: ['quit'], about: 'leave; the session is kept', run: (hands) => hands.leave() },
]

const KEYS: Array<[string, string]> = [
  ['Enter', 'send; while the agent works: queue'],
  ['Alt-Enter, Ctrl-J', 'a new line (Shift-Enter and \\ Enter too)'],
  ['@', 'complete a file'],
  ['/', 'complete a command'],
  ['Up, Down; Ctrl-R', 'what waits or was typed before; search in it'],
  ['Esc, Ctrl-C', 'stop what the agent does'],
  ['Ctrl-O', 'the output of the last call; again: of the one before'],
  ['Ctrl-A E B F K U W Y', 'move and cut as in Emacs (Alt-B F D too); Ctrl-_ undoes'],
  ['Ctrl-L, Ctrl-Z', 'draw anew; go to the shell (fg comes back)'],
  ['Ctrl-C twice, Ctrl-D', 'leave'],
]
const KEYS_WIDTH = 20

function help({ show, colors }: Hands): void {
  const row = (left: string, right: string): string => `  ${colors.cyan(left.padEnd(14))} ${right}`
  show([
    colors.bold('Commands'),
    ...COMMANDS.map(({ name, about }) => row(`/${name}`, about)),
    colors.dim('  Your own: Markdown files in .agent/commands/ and ~/.agent/commands/'),
    '',
    colors.bold('Keys'),
    ...KEYS.map(([keys, about]) => `  ${colors.cyan(keys.padEnd(KEYS_WIDTH))} ${about}`),
  ])
}

function status({ show, session, figures, desk }: Hands): void {
  const open = session()
  if (open === null) return
  const { model, used, budget, branch, cost } = figures()
  const c = open.conversation()
  const rows: Array<[string, string]> = [
    ['session', open.session_id],
    ['directory', open.cwd],
    ['branch', branch ?? 'none'],
    ['model', model],
    ['context', `${tokens(used)} of ${tokens(budget)} tokens before a compaction`],
    ['turns', `${c.prompts}, ${count(c.compactions, 'compaction')}`],
    ['cost', cost === null ? 'not known for this model' : `$${cost.toFixed(4)} since it was opened`],
    ['trusted', desk.trust(open.cwd).isTrusted ? 'yes' : 'no (/trust)'],
    ['version', desk.version],
  ]
  show(rows.map(([left, right]) => `  ${left.padEnd(10)} ${printableLine(right)}`))
}

function model({ tell, setModel, figures }: Hands, name: string): void {
  if (name === '') tell(`The model is ${figures().model}. /model <name> changes it for what follows.`)
  else if (/\s/.test(name)) tell('A model has one word for a name: /model <name>.')
  else {
    setModel(name)
    tell(`From the next call on the model is ${name}.`)
  }
}

/** The screen is empty once the new session is open; the way back to the one before is said where that has anything. */
async function clear(hands: Hands): Promise<void> {
  const before = hands.session()
  if (!(await hands.open({ kind: 'new' }, 'onEmptyScreen'))) return
  if (before !== null && before.conversation().session !== null)
    hands.tell(`The session before is kept: /resume ${before.session_id.slice(0, 8)} goes back to it.`)
}

async function resume(hands: Hands, id: string): Promise<unknown> {
  if (id !== '') return hands.open({ kind: 'resume', id, fork: false })
  const open = hands.session()
  if (open === null) return
  const heads = (await open.sessions(true)).filter(({ session_id }) => session_id !== open.session_id)
  // This directory's come first, each part newest first.
  const own = heads.filter(({ cwd }) => cwd === open.cwd)
  const sorted = [...own, ...heads.filter(({ cwd }) => cwd !== open.cwd)]
  if (sorted.length === 0) return hands.tell('There are no other sessions yet.')
  const now = Date.now()
  const items = sorted.map(({ first_prompt, used, cwd, session_id }) => {
    const where = cwd === open.cwd ? '' : `  ${printableLine(cwd)}`
    return `${session_id.slice(0, 8)}  ${ageOf(used, now).padEnd(10)}  ${printableLine(first_prompt.slice(0, 300)) || '(no prompt)'}${where}`
  })
  const index = await hands.pick('Go on with which session?', items)
  const chosen = index === null ? undefined : sorted[index]
  if (chosen !== undefined) await hands.open({ kind: 'resume', id: chosen.session_id, fork: false })
}

async function fork(hands: Hands, at: string): Promise<void> {
  const open = hands.session()
  if (open === null || open.conversation().session === null) return hands.tell('There is nothing to fork yet.')
  const isOpen = await hands.open({ kind: 'fork', id: open.session_id, at: at === '' ? null : at })
  if (!isOpen) return
  const upTo = at === '' ? '' : ` up to transition ${at}`
  hands.tell(`A copy of session ${open.session_id.slice(0, 8)}${upTo}; that one stays as it is.`)
}

async function list({ desk, session, show }: Hands, words: string[]): Promise<void> {
  const output = await desk.command(words, session()?.cwd ?? '.')
  show(linesOf(output))
}

async function look(hands: Hands, words: string[]): Promise<void> {
  const open = hands.session()
  if (open === null || open.conversation().session === null) return hands.tell('Nothing has happened yet.')
  await list(hands, [...words, open.session_id])
}

function linesOf(output: string): string[] {
  return printable(output).trimEnd().split('\n')
}

async function inspect({ desk, session, tell }: Hands): Promise<void> {
  const open = session()
  if (open === null || open.conversation().session === null) return tell('Nothing has happened yet.')
  tell(await desk.server(['inspect', open.session_id], open.cwd))
}

function step({ tell, toggleStep }: Hands): void {
  const isOn = toggleStep()
  if (isOn === null) tell('Steps cannot be shown in this terminal: agent --step -p "…" takes them in lines.')
  else if (!isOn) tell('The agent stops no more.')
  else
    tell(
      'From now on the agent stops before each service: n or Enter takes the step, c goes on without stopping, q interrupts.',
    )
}

async function permissions({ desk, session, show, tell }: Hands): Promise<void> {
  const output = await desk.command(['config', '--json'], session()?.cwd ?? '.')
  let settings: Array<{ key: string; value: unknown; source: string }>
  try {
    settings = JSON.parse(output.slice(output.indexOf('['))) as typeof settings
  } catch {
    return tell(output)
  }
  const rows = settings.filter(({ key }) => key.startsWith('permissions.'))
  const lines = rows.flatMap(({ key, value, source }) => {
    const rules = Array.isArray(value) ? value.map(String) : []
    return [
      `  ${key.slice('permissions.'.length).padEnd(6)} ${rules.length === 0 ? 'no rules' : `from ${source}`}`,
      ...rules.map((rule) => `    ${rule}`),
    ]
  })
  const given = session()?.approvals() ?? []
  if (given.length > 0)
    lines.push('  given for this session, until it is closed', ...given.map((one) => `    ${approvalLine(one)}`))
  show(linesOf(lines.join('\n')))
}

async function trust(hands: Hands): Promise<void> {
  const open = hands.session()
  if (open === null) return
  const trusted = hands.desk.trust(open.cwd)
  if (trusted.isTrusted) return hands.tell(`${open.cwd} is trusted already.`)
  const chosen = await hands.pick(
    `Trust ${printableLine(open.cwd)}? Its settings may then allow tools and name servers.`,
    ['no', 'yes'],
  )
  if (chosen !== 1) return
  const added = await trusted.add()
  if (!added.ok) return hands.tell(added.message)
  hands.tell(`${open.cwd} is trusted.`)
  // Settings are read when a session is opened.
  const isBegun = open.conversation().session !== null
  await hands.open(isBegun ? { kind: 'resume', id: open.session_id, fork: false } : { kind: 'new' })
}

function cost({ session, figures, show }: Hands): void {
  const open = session()
  if (open === null) return
  const { usage, calls, api_ms } = open.conversation().turn
  const { cost: spent } = figures()
  show([
    `  since it was opened  ${spent === null ? 'not known for this model' : `$${spent.toFixed(4)}`}`,
    `  last turn            ${count(calls, 'model call')}, ${(api_ms / 1000).toFixed(1)}s of waiting for them`,
    `  its tokens           ${tokens(wholeInput(usage))} in (${tokens(usage.cache_read_input_tokens)} from the cache), ${tokens(usage.output_tokens)} out`,
  ])
}

async function exportTo({ session, desk, tell }: Hands, name: string): Promise<void> {
  const open = session()
  if (open === null || open.conversation().session === null) return tell('There is nothing to export yet.')
  const file = name === '' ? `session-${open.session_id.slice(0, 8)}.md` : name
  const path = isAbsolute(file) ? file : join(open.cwd, file)
  const text = file.endsWith('.jsonl')
    ? await desk.command(['sessions', 'export', open.session_id], open.cwd)
    : conversationText(open.conversation().messages)
  try {
    // Never over a file that is there.
    writeFileSync(path, text, { flag: 'wx', mode: 0o600 })
    tell(`Written to ${path}.`)
  } catch (error) {
    tell(
      (error as NodeJS.ErrnoException).code === 'EEXIST'
        ? `${path} is there already; give another name.`
        : `${path} could not be written: ${String(error)}`,
    )
  }
}
