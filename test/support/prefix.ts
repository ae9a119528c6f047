/** The check across requests: servers cache by exact prefix. */
import type { CapturedRequest } from './fakeModel.ts'

/**
 * Throws where a request does not begin with the one before it, byte for byte apart from the cache marks, or
 * where `system` or `tools` changed. Give it a slice between two compactions, of one conversation.
 */
export function expectPrefixStable(requests: ReadonlyArray<Pick<CapturedRequest, 'body'>>): void {
  requests.forEach((request, n) => {
    const before = requests[n - 1]
    if (before === undefined) return
    for (const part of ['system', 'tools'] as const) {
      if (JSON.stringify(request.body[part]) !== JSON.stringify(before.body[part]))
        throw new Error(`\`${part}\` of request ${n} differs from that of request ${n - 1}.`)
    }
    before.body.messages.forEach((message, at) => {
      const [old, now] = [withoutMarks(message), withoutMarks(request.body.messages[at])]
      if (old !== now)
        throw new Error(`Message ${at} of request ${n} differs from that of request ${n - 1}:\n${old}\n${now}`)
    })
  })
}

/** @returns a block, message or request as JSON text without its cache marks. */
export function withoutMarks(value: unknown): string {
  return JSON.stringify(value, (key, item: unknown) => (key === 'cache_control' ? undefined : item)) ?? 'nothing'
}
