/** The key and the base URL as users set them, checked before anything is sent. */
import type { Result } from '../ports.ts'

/** Where requests go when the user names no server. */
export const DEFAULT_BASE_URL = 'https://api.anthropic.com'

/**
 * Checks a key as it stands in an environment variable.
 * @param raw the variable's value; white space and line ends around it are cut (keys come from files with CRLF)
 * @param name the variable, for the message
 * @returns the key, or a sentence that never holds a part of it
 */
export function checkKey(raw: string | undefined, name = 'ANTHROPIC_API_KEY'): Result<string> {
  const key = (raw ?? '').trim()
  if (key === '') return { ok: false, message: `${name} is not set: set it to your API key.` }
  // Header values are printable Latin-1 at most; HTTP clients print the whole header when they complain.
  if (!/^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/.test(key)) {
    return {
      ok: false,
      message: `${name} holds a line end, a control character or a letter outside ASCII: copy the key again, as one line.`,
    }
  }
  return { ok: true, value: key }
}

/**
 * Checks the base URL of the server.
 * @param raw with or without a trailing slash and a path prefix; blank: Anthropic's
 * @returns the URL without a trailing slash
 */
export function checkBaseUrl(raw: string | undefined): Result<string> {
  const text = (raw ?? '').trim()
  if (text === '') return { ok: true, value: DEFAULT_BASE_URL }
  const wrong = (why: string): Result<string> => ({
    ok: false,
    message: `ANTHROPIC_BASE_URL ${why}: write it as http://host:port or https://host/prefix.`,
  })
  let url: URL
  try {
    url = new URL(text)
  } catch {
    return wrong('is not an address')
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return wrong('begins with neither http:// nor https://')
  if (url.search !== '' || url.hash !== '') return wrong('has a query or a fragment')
  return { ok: true, value: url.href.replace(/\/+$/, '') }
}
