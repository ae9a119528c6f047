/**
 * What can go wrong between us and the server, below HTTP. The SDK decides by words in messages and causes
 * whether an error was a timeout and then throws the cause away; so these messages say "silent", and have no cause.
 */

export type TransportKind =
  /** Nobody listens there. */
  | 'refused'
  /** The name cannot be resolved. */
  | 'dns'
  /** No way to the host. */
  | 'unreachable'
  /** The certificate or the protocol is wrong: trying again changes nothing. */
  | 'tls'
  /** The proxy does not let us through. */
  | 'proxy'
  /** The connection broke in mid-request or mid-answer. */
  | 'broken'
  /** No byte for the idle time. */
  | 'idle'
  /** The request cannot be written at all (a header with a control character). */
  | 'request'

/** `message` is a sentence for the user without its full stop. */
export class TransportError extends Error {
  override name = 'TransportError'
  readonly kind: TransportKind

  constructor(kind: TransportKind, message: string) {
    super(message)
    this.kind = kind
  }
}

const REFUSED = new Set(['ECONNREFUSED'])
const DNS = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA', 'EAI_NONAME'])
const UNREACHABLE = new Set(['EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN', 'EHOSTDOWN', 'EADDRNOTAVAIL', 'ETIMEDOUT'])
const TLS =
  /^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_|ERR_SSL_|EPROTO$|HOSTNAME_MISMATCH$|INVALID_CA$|INVALID_PURPOSE$)/
const REQUEST = new Set(['ERR_INVALID_CHAR', 'ERR_INVALID_HTTP_TOKEN', 'ERR_UNESCAPED_CHARACTERS'])

/**
 * Turns an error of node:http, node:net or node:tls into a sentence.
 * @param place `host:port` as the user knows it
 */
export function transportError(error: unknown, place: string): TransportError {
  if (error instanceof TransportError) return error
  const { code, message } = described(error)
  if (REFUSED.has(code)) return new TransportError('refused', `nothing answers at ${place} (${code})`)
  if (DNS.has(code)) return new TransportError('dns', `the host name in ${place} cannot be found (${code})`)
  if (UNREACHABLE.has(code)) return new TransportError('unreachable', `${place} cannot be reached (${spelled(code)})`)
  if (TLS.test(code)) return new TransportError('tls', tlsMessage(code, place))
  if (REQUEST.has(code))
    return new TransportError('request', `a header of the request holds a character that HTTP does not allow (${code})`)
  const detail = code === '' ? message : spelled(code)
  return new TransportError('broken', `the connection to ${place} broke before the answer was whole (${detail})`)
}

function described(error: unknown): { code: string; message: string } {
  if (!(error instanceof Error)) return { code: '', message: String(error) }
  // Node tries every address of a name and wraps what each of them said.
  const inner = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error
  const { code } = inner as NodeJS.ErrnoException
  return { code: code ?? (error as NodeJS.ErrnoException).code ?? '', message: spelled(inner.message) }
}

/** The SDK takes any message with "timed out" in it for a timeout of its own and drops the rest. */
function spelled(text: string): string {
  return text.replace(/time(?:d)? ?out/gi, 'no reply in time')
}

function tlsMessage(code: string, place: string): string {
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_'))
    return `${place} does not speak TLS as expected (${code}): a server without TLS needs http:// in ANTHROPIC_BASE_URL`
  return `the certificate of ${place} is not trusted (${code}): name the certificate of your organisation's authority in NODE_EXTRA_CA_CERTS`
}
