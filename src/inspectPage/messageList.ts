/** Messages by number: those in sight are fetched and filled in, the others keep their place. */
import type { Api } from './api.ts'
import { blocksOf } from './blocks.ts'
import { h } from './dom.ts'

/** Messages at the end that are filled in before the list is scrolled to. */
const AT_ONCE = 3

export class MessageList {
  readonly element = h('div', 'messages')
  readonly #api: Api
  #numbers: readonly number[] = []
  readonly #watcher: IntersectionObserver

  /** @param scroller what the list is scrolled in */
  constructor(api: Api, scroller: Element) {
    this.#api = api
    this.#watcher = new IntersectionObserver((entries) => this.#seen(entries), { root: scroller, rootMargin: '600px' })
  }

  /**
   * Shows these messages; those that are there already stay as they are, folded or not.
   * @returns when those at the end, which a step is about, are filled in
   */
  async show(numbers: readonly number[], fresh: ReadonlySet<number>): Promise<void> {
    let same = 0
    while (same < numbers.length && same < this.#numbers.length && numbers[same] === this.#numbers[same]) same++
    while (this.element.children.length > same) {
      const last = this.element.lastElementChild
      if (last === null) break
      this.#watcher.unobserve(last)
      last.remove()
    }
    const added = numbers.slice(same).map((number, i) => this.#place(number, same + i))
    this.element.append(...added)
    this.#numbers = numbers
    for (const child of this.element.children) {
      child.classList.toggle('fresh', fresh.has(Number((child as HTMLElement).dataset.message)))
    }
    const last = [...this.element.children].slice(-AT_ONCE)
    await Promise.all(last.map((child) => this.#fill(child as HTMLElement)))
  }

  /** Scrolls to the first message that is new at this step, else to the end. */
  reveal(): void {
    const fresh = this.element.querySelector('.fresh')
    if (fresh !== null) fresh.scrollIntoView({ block: 'start' })
    else this.element.lastElementChild?.scrollIntoView({ block: 'end' })
  }

  #place(number: number, at: number): HTMLElement {
    const known = this.#api.known(number)
    const element = h('article', 'message', h('header', '', h('span', 'role', ''), h('span', 'place', String(at + 1))))
    element.dataset.message = String(number)
    if (known !== undefined) fill(element, known)
    else this.#watcher.observe(element)
    return element
  }

  #seen(entries: IntersectionObserverEntry[]): void {
    for (const { isIntersecting, target } of entries) if (isIntersecting) void this.#fill(target as HTMLElement)
  }

  async #fill(element: HTMLElement): Promise<void> {
    if (element.classList.contains('filled')) return
    this.#watcher.unobserve(element)
    const message = await this.#api.message(Number(element.dataset.message))
    if (!element.classList.contains('filled')) fill(element, message)
  }
}

function fill(element: HTMLElement, message: Parameters<typeof blocksOf>[0]): void {
  element.classList.add(message.role, 'filled')
  const role = element.querySelector('.role')
  if (role !== null) role.textContent = message.role
  element.append(...blocksOf(message))
}
