/** What a service is about to do, in words for a person. */
import { tokensOfContext, tokensOfMessages } from '../../machines/estimate.ts'
import type { JournalRecord } from '../../machines/journal.ts'
import { type Message, type ToolUseBlock, textOf } from '../../machines/messages.ts'
import type { ModelRequest } from '../ports.ts'
import type { Plan, PlannedCall } from '../stepPorts.ts'
import { clip, printable, printableLine } from '../text.ts'

/** Lines of an argument that are shown; `p` shows all of them. */
const SHOWN_LINES = 12

/** @returns printable lines of at most `columns` columns */
export function planLines(plan: Plan, columns: number): string[] {
  const lines = wordsOf(plan)
  return lines.map((line) => clip(line, columns))
}

function wordsOf(plan: Plan): string[] {
  switch (plan.service) {
    case 'loadContext':
      return loading(plan.begin)
    case 'persist':
      if (plan.entries.length === 0) return ['writes nothing new, then decides how to go on']
      return [
        `writes ${many(plan.entries.length, 'record')} to the journal:`,
        ...plan.entries.map(({ record }) => `  ${recordLine(record)}`),
      ]
    case 'recall':
      return ['chooses the memories that go along with this turn; asks the model where there are many']
    case 'remember':
      return ['asks the model what of this turn to keep in long-term memory']
    case 'trim':
      return [
        'makes room without a model call:',
        ...plan.steps.map((step) =>
          step.layer === 'middle'
            ? `  leaves out messages ${step.from + 1} to ${step.to} from the middle, kept in ${step.path}`
            : `  puts ${many(step.results.length, step.layer === 'old' ? 'old result' : 'large result')} on disk`,
        ),
      ]
    case 'compact':
      return [`has the conversation summarised (${TRIGGERS[plan.trigger]}):`, ...requestWords(plan.request)]
    case 'callModel':
      return requestWords(plan.request)
    case 'runTools':
      return plan.calls.flatMap(callLines)
    default:
      return plan satisfies never
  }
}

const TRIGGERS = {
  budget: 'it is over the budget',
  tool: 'the model asked for it',
  emergency: 'it was too long for the model',
} as const

function loading(begin: Extract<Plan, { service: 'loadContext' }>['begin']): string[] {
  if (begin.kind === 'resume') return ['carries on the unfinished turn of this session']
  if (begin.kind === 'compact') return ['has the conversation summarised, and nothing else']
  const piped = begin.extra === null ? [] : [`with ${begin.extra.length.toLocaleString('en')} piped characters`]
  return [`reads the prompt and the files it mentions: ${printableLine(begin.text.slice(0, 400))}`, ...piped]
}

function requestWords({ model, max_tokens, system, tools, messages }: ModelRequest): string[] {
  const estimate = tokensOfMessages(messages) + tokensOfContext({ system, tools })
  const number = (value: number): string => value.toLocaleString('en')
  return [
    `asks ${printableLine(model)} for a reply of at most ${number(max_tokens)} tokens`,
    `sends ${many(messages.length, 'message')} and ${many(tools.length, 'tool')}, about ${number(estimate)} tokens (estimated)`,
    ...lastWords(messages.at(-1)),
  ]
}

function lastWords(message: Message | undefined): string[] {
  if (message === undefined) return []
  const results = message.content.filter((block) => block.type === 'tool_result').length
  const text = printableLine(textOf(message.content).slice(-400))
  const parts = [...(results > 0 ? [many(results, 'tool result')] : []), ...(text === '' ? [] : [text])]
  return [`the last message: ${parts.join(', ') || 'no text'}`]
}

function callLines({ call, answer }: PlannedCall): string[] {
  const verdict =
    answer.kind === 'allow'
      ? 'may run'
      : answer.kind === 'invalid'
        ? `is answered with an error: ${answer.content}`
        : answer.kind === 'ask'
          ? `must be asked for: ${answer.reason}`
          : `is refused: ${answer.reason}`
  return [`${printableLine(call.name)} ${printableLine(verdict.slice(0, 400))}`, ...argumentLines(call)]
}

/** The arguments, a text of several lines below its name. */
function argumentLines({ input }: ToolUseBlock): string[] {
  return Object.entries(input).flatMap(([name, value]) => {
    const text = printable(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
    const lines = text.split('\n')
    const key = `  ${printableLine(name)}:`
    if (lines.length === 1) return [`${key} ${text}`]
    const rest = lines.length - SHOWN_LINES
    const more = rest > 0 ? [`    … ${many(rest, 'more line')} (p shows all)`] : []
    return [key, ...lines.slice(0, SHOWN_LINES).map((line) => `    ${line.replaceAll('\t', '  ')}`), ...more]
  })
}

function recordLine(record: JournalRecord): string {
  switch (record.type) {
    case 'prompt':
      return `prompt: ${printableLine(record.text.slice(0, 400))}`
    case 'reply': {
      const calls = record.content.flatMap((block) => (block.type === 'tool_use' ? [block.name] : []))
      const said = calls.length > 0 ? `calls ${calls.join(', ')}` : textOf(record.content).slice(0, 400)
      return `reply: ${printableLine(said)}`
    }
    case 'turnEnded':
      return `turnEnded: ${record.subtype}${record.message === undefined ? '' : `, ${printableLine(record.message)}`}`
    case 'interrupted':
      return `interrupted: ${printableLine(record.reason)}`
    case 'callFailed':
    case 'compactionFailed':
    case 'fault':
      return `${record.type}: ${printableLine(record.message)}`
    default:
      return record.type
  }
}

function many(count: number, what: string): string {
  return `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`
}
