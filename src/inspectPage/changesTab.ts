/** What changed between two steps: messages, numbers, system prompt, tools. */
import type { StepJson } from '../services/inspect/wire.ts'
import type { Api } from './api.ts'
import { button, fold, h } from './dom.ts'
import { many } from './format.ts'
import { diffLines, diffLists } from './lineDiff.ts'
import { MessageList } from './messageList.ts'
import { baseOf, type State, type Store } from './state.ts'

/** Lines in common that are shown around a difference. */
const AROUND = 3

export class ChangesTab {
  readonly element = h('div', 'tab')

  constructor(
    private readonly store: Store,
    private readonly api: Api,
    private readonly scroller: Element,
  ) {}

  show(state: State, before: StepJson, after: StepJson): void {
    const texts = changedTexts(before, after)
    const messages = this.#messages(before, after)
    const numbers = changedFacts(before, after)
    const isSame = texts.length === 0 && messages.length === 0 && numbers === null
    const hint = isSame ? h('p', 'hint', 'Nothing that a request is made of has changed between the two.') : null
    const parts = [this.#head(state), hint, ...messages, numbers, ...texts]
    this.element.replaceChildren(...parts.filter((one) => one !== null))
  }

  /** From which step to which; both can be typed. */
  #head(state: State): HTMLElement {
    const from = stepInput('From step', baseOf(state), (n) => this.store.change({ base: n }))
    const to = stepInput('to step', state.n, (n) => this.store.go(n))
    const reset = button('', 'Step by step', () => this.store.change({ base: null }))
    reset.title = 'Compare each step with the one before it again'
    return h(
      'div',
      'compare',
      from,
      to,
      state.base === null ? h('span', 'hint', 'm keeps a step to compare with') : reset,
    )
  }

  #messages(before: StepJson, after: StepJson): HTMLElement[] {
    const changes = diffLists(before.messages, after.messages)
    const part = (kind: 'added' | 'removed', title: string): HTMLElement | null => {
      const numbers = changes.flatMap((one) => (one.kind === kind ? [one.item] : []))
      if (numbers.length === 0) return null
      const list = new MessageList(this.api, this.scroller)
      void list.show(numbers, new Set())
      list.element.classList.add(kind)
      return fold(`${many(numbers.length, 'message')} ${title}`, true, list.element)
    }
    return [part('removed', 'gone, or as it was'), part('added', 'new, or as it is now')].filter((one) => one !== null)
  }
}

function stepInput(label: string, value: number, onChange: (n: number) => void): HTMLElement {
  const input = h('input', '')
  input.inputMode = 'numeric'
  input.value = String(value)
  input.addEventListener('change', () => {
    if (/^\d+$/.test(input.value)) onChange(Number(input.value))
    else input.value = String(value)
  })
  return h('label', '', `${label} `, input)
}

function changedFacts(before: StepJson, after: StepJson): HTMLElement | null {
  const rows = [
    ['state', before.state, after.state],
    ...Object.keys(after.facts).map((name) => [name, before.facts[name], after.facts[name]]),
  ]
    .filter(([, was, is]) => was !== is)
    .map(([name, was, is]) => h('tr', '', h('th', '', String(name)), h('td', '', shown(was)), h('td', '', shown(is))))
  if (rows.length === 0) return null
  return h(
    'table',
    'changed',
    h('thead', '', h('tr', '', h('th', '', ''), h('th', '', 'was'), h('th', '', 'is'))),
    h('tbody', '', ...rows),
  )
}

function shown(value: unknown): string {
  return value === null || value === undefined
    ? '–'
    : typeof value === 'number'
      ? value.toLocaleString('en')
      : String(value)
}

function changedTexts(before: StepJson, after: StepJson): HTMLElement[] {
  if (before.context === after.context) return []
  const was = before.request
  const is = after.request
  if (is === null) return []
  if (was === null) return [fold('System prompt and tools are known now', false, difference('', is.system))]
  const names = ({ tools }: NonNullable<StepJson['request']>): string => tools.map(({ name }) => name).join('\n')
  return [
    was.system === is.system ? null : fold('System prompt', true, difference(was.system, is.system)),
    names(was) === names(is) ? null : fold('Tools', true, difference(names(was), names(is))),
    was.model === is.model ? null : fold('Model', true, difference(was.model, is.model)),
  ].filter((one) => one !== null)
}

function difference(before: string, after: string): HTMLElement {
  const lines = diffLines(before, after)
  const isNear = lines.map((_, i) =>
    lines.slice(Math.max(0, i - AROUND), i + AROUND + 1).some(({ kind }) => kind !== 'same'),
  )
  const pre = h('pre', 'diff')
  for (const [i, { kind, text }] of lines.entries()) {
    if (isNear[i]) pre.append(h('span', kind, `${{ same: '  ', added: '+ ', removed: '- ' }[kind]}${text}\n`))
    else if (i === 0 || isNear[i - 1]) pre.append(h('span', 'skipped', '  …\n'))
  }
  return pre
}
