/** Who may read: the page of this very server, by its token. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

export type Verdict = { kind: 'allowed' } | { kind: 'refused'; status: 403 | 405; message: string }

/** What the page asks with; a browser cannot set it for an event stream, so the address may carry it too. */
const TOKEN_HEADER = 'x-inspect-token'

/**
 * Refuses what did not come from the address that was printed: another Host (a name that was made to lead here, DNS
 * rebinding), no token or a wrong one, anything that would change something.
 */
export function judge(request: IncomingMessage, url: URL, port: number, token: string): Verdict {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`]
  if (!hosts.includes(request.headers.host ?? '')) return refused(403, 'This host is not served here.')
  const given = request.headers[TOKEN_HEADER] ?? url.searchParams.get('token') ?? ''
  if (typeof given !== 'string' || !isSame(given, token))
    return refused(403, 'The token is missing or wrong: open the address that agent inspect printed.')
  if (request.method !== 'GET' && request.method !== 'HEAD') return refused(405, 'This page can only be read.')
  return { kind: 'allowed' }
}

function refused(status: 403 | 405, message: string): Verdict {
  return { kind: 'refused', status, message }
}

/** In a time that says nothing of where the two differ. */
function isSame(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

/** Sent with every answer: nothing is kept, nothing is embedded elsewhere, nothing is guessed. */
export const HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}
