/** The page by keyboard. */
import { find, h } from './dom.ts'
import { openSearch } from './search.ts'
import { rowsOf, type Store, TABS } from './state.ts'

const KEYS: Array<[string, string]> = [
  ['← →', 'one step back or on (with Shift: ten)'],
  ['Home End', 'before the first step, the last step'],
  ['[ ]', 'the model call before or after'],
  ['g', 'go to a step by its number'],
  ['/', 'search'],
  ['m', 'keep this step to compare others with; again: let it go'],
  ['1 … 5', 'conversation, request, changes, record, cost'],
  ['u', 'from a subagent up to its parent'],
  ['c', 'enlarge the chart'],
  ['f', 'follow the session as it grows'],
  ['r', 'hide the content, keep the structure'],
  ['?', 'these keys'],
  ['Esc', 'close what is open'],
]

export function listenForKeys(store: Store): void {
  const help = find<HTMLDialogElement>('#help')
  const go = find<HTMLDialogElement>('#go')
  find('#help dl').append(...KEYS.flatMap(([key, what]) => [h('dt', '', key), h('dd', '', what)]))
  find('#open-help').addEventListener('click', () => help.showModal())
  find('#position').addEventListener('click', () => openGo(store, go))
  find('form', go).addEventListener('submit', (event) => {
    event.preventDefault()
    const { value } = find<HTMLInputElement>('input', go)
    shut(go)
    if (/^\d+$/.test(value)) store.go(Number(value))
  })
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const dialog = [help, go].find(({ open }) => open)
    if (event.key === 'Escape') {
      // At once: by itself it closes a little later, and the next key would be lost.
      event.preventDefault()
      if (dialog === undefined) closeAll(store)
      else shut(dialog)
    } else if (dialog === undefined && !(event.target instanceof HTMLInputElement)) {
      if (act(event, store, { help, go })) event.preventDefault()
    }
  })
}

/** The focus leaves at once too, not with the next frame: else the next key would be typed into a field out of sight. */
function shut(dialog: HTMLDialogElement): void {
  dialog.close()
  blur()
}

function blur(): void {
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
}

function openGo({ state }: Store, go: HTMLDialogElement): void {
  const input = find<HTMLInputElement>('input', go)
  input.value = String(state.n)
  go.showModal()
  input.select()
}

function closeAll(store: Store): void {
  document.body.classList.remove('large')
  if (store.state.searching) blur()
  store.change({ searching: false })
}

/** @returns whether the key means something here */
function act(event: KeyboardEvent, store: Store, { help, go }: Record<'help' | 'go', HTMLDialogElement>): boolean {
  const { state } = store
  const by = event.shiftKey ? 10 : 1
  switch (event.key) {
    case 'ArrowLeft':
      store.go(state.n - by)
      return true
    case 'ArrowRight':
      store.go(state.n + by)
      return true
    case 'Home':
      store.go(0)
      return true
    case 'End':
      store.go(rowsOf(state).length)
      return true
    case '[':
    case ']':
      store.go(nearestCall(store, event.key === ']'))
      return true
    case 'g':
      openGo(store, go)
      return true
    case '/':
      openSearch(store)
      return true
    case 'm':
      store.change(state.base === state.n ? { base: null } : { base: state.n, tab: state.tab })
      return true
    case 'u':
      find<HTMLElement>('#lanes').querySelector<HTMLElement>(`[data-session="${state.root}"]`)?.click()
      return true
    case 'c':
      document.body.classList.toggle('large')
      return true
    case 'f':
    case 'r':
    case '?':
      if (event.key === '?') help.showModal()
      else find<HTMLElement>(event.key === 'f' ? '#follow' : '#veil').click()
      return true
  }
  const tab = /^[1-5]$/.test(event.key) ? TABS[Number(event.key) + 1] : undefined
  if (tab !== undefined) store.change({ tab })
  return tab !== undefined
}

/** @returns the step of the nearest reply in that direction, the shown one where there is none */
function nearestCall({ state }: Store, isForth: boolean): number {
  const calls = rowsOf(state).filter(({ record }) => record === 'reply' || record === 'callFailed')
  const found = isForth ? calls.find(({ n }) => n > state.n) : calls.findLast(({ n }) => n < state.n)
  return found?.n ?? state.n
}
