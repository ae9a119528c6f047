/** Elements without innerHTML: nothing of a session can become markup. */

type Child = Node | string | null | false

/** @param classes separated by spaces */
export function h<K extends keyof HTMLElementTagNameMap>(
  name: K,
  classes: string,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name)
  if (classes !== '') element.className = classes
  element.append(...children.filter((child): child is Node | string => child !== null && child !== false))
  return element
}

/** @returns a button that does something */
export function button(classes: string, text: string, onClick: () => void): HTMLButtonElement {
  const element = h('button', classes, text)
  element.type = 'button'
  element.addEventListener('click', onClick)
  return element
}

/** @returns the element of the page that has this selector. @throws where the page has none: then it was built wrong */
export function find<E extends Element = HTMLElement>(selector: string, within: ParentNode = document): E {
  const element = within.querySelector<E>(selector)
  if (element === null) throw new Error(`the page has no ${selector}`)
  return element
}

/** A section that can be folded. */
export function fold(title: string, open: boolean, ...children: Child[]): HTMLDetailsElement {
  const element = h('details', 'fold', h('summary', '', title), ...children)
  element.open = open
  return element
}

/** A table of two columns. */
export function facts(pairs: Array<[string, string]>): HTMLElement {
  return h('dl', 'facts', ...pairs.flatMap(([name, value]) => [h('dt', '', name), h('dd', '', value)]))
}
