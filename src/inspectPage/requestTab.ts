/** The exact request at a step. */
import type { RequestParts, StepJson } from '../services/inspect/wire.ts'
import type { Api } from './api.ts'
import { longText } from './blocks.ts'
import { button, facts, fold, h } from './dom.ts'
import { many, number } from './format.ts'
import { MessageList } from './messageList.ts'

const KINDS: Record<RequestParts['kind'], string> = {
  sent: 'The request that was answered at this step, as the model got it.',
  next: 'The request that is under way here, as the model gets it.',
  wouldBe: 'The request that the next call would send if it were made now.',
  summary: 'The first request for a summary, as the model gets it. A second try asks in other words.',
}

const NONE =
  'No request belongs to this step: system prompt and tools were not known yet, or a question was asked beside the conversation, whose words are not kept.'

export class RequestTab {
  readonly element = h('div', 'tab')
  readonly #api: Api
  readonly #scroller: Element
  /** Kept from step to step: most of their messages are the same. */
  #list: MessageList

  constructor(api: Api, scroller: Element) {
    this.#api = api
    this.#scroller = scroller
    this.#list = new MessageList(api, scroller)
  }

  /** Forgets what was shown: of another session, or before content was hidden. */
  reset(): void {
    this.#list = new MessageList(this.#api, this.#scroller)
  }

  show(session: string, { n, request }: StepJson): void {
    if (request === null) {
      this.element.replaceChildren(h('p', 'hint', NONE))
      return
    }
    const list = this.#list
    void list.show(request.messages, new Set())
    const raw = h('pre', 'raw')
    raw.hidden = true
    const toggle = button('', 'Show as JSON', () => {
      raw.hidden = !raw.hidden
      toggle.textContent = raw.hidden ? 'Show as JSON' : 'Hide JSON'
      if (!raw.hidden && raw.textContent === '') void this.#json(session, n).then((text) => raw.replaceChildren(text))
    })
    const copy = button('', 'Copy JSON', () => {
      void this.#json(session, n).then(async (text) => {
        await navigator.clipboard.writeText(text)
        copy.textContent = 'Copied'
      })
    })
    this.element.replaceChildren(
      h('p', 'hint', KINDS[request.kind]),
      facts([
        ['model', request.model],
        ['at most', request.max_tokens === null ? 'not recorded' : many(request.max_tokens, 'token')],
        ['messages', number(request.messages.length)],
      ]),
      h('div', 'actions', toggle, copy),
      raw,
      fold(`System prompt, ${many(request.system.length, 'character')}`, false, longText(request.system)),
      fold(many(request.tools.length, 'tool'), false, ...request.tools.map(toolOf)),
      list.element,
    )
  }

  async #json(session: string, n: number): Promise<string> {
    return JSON.stringify(await this.#api.request(session, n), null, 2)
  }
}

function toolOf({ name, description, input_schema }: RequestParts['tools'][number]): HTMLElement {
  return fold(name, false, h('p', 'description', description), longText(JSON.stringify(input_schema, null, 2)))
}
