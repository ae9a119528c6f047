/**
 * Which proxy a request goes through: HTTPS_PROXY, HTTP_PROXY and NO_PROXY in either case, as curl reads them.
 * Loopback never goes through a proxy.
 */
import { TransportError } from './transportError.ts'

type Env = Record<string, string | undefined>

/** @returns true for addresses of this machine. */
function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase()
  return host === 'localhost' || host.endsWith('.localhost') || host === '::1' || /^127\./.test(host)
}

/**
 * @param target the URL of the request
 * @returns the proxy's URL, or null for a direct connection
 * @throws TransportError where the variable holds something that is no http(s) proxy
 */
export function proxyFor(target: URL, env: Env): URL | null {
  if (isLoopback(target.hostname) || isExcluded(target, env.NO_PROXY ?? env.no_proxy ?? '')) return null
  const names = target.protocol === 'https:' ? ['HTTPS_PROXY', 'https_proxy'] : ['HTTP_PROXY', 'http_proxy']
  const name = names.find((each) => (env[each] ?? '').trim() !== '')
  if (name === undefined) return null
  const text = (env[name] ?? '').trim()
  let proxy: URL
  try {
    proxy = new URL(text.includes('://') ? text : `http://${text}`)
  } catch {
    throw new TransportError('proxy', `${name} is not an address: write it as http://host:port`)
  }
  if (proxy.protocol !== 'http:' && proxy.protocol !== 'https:')
    throw new TransportError('proxy', `${name} names a ${proxy.protocol}// proxy: only http:// and https:// are known`)
  return proxy
}

function isExcluded(target: URL, list: string): boolean {
  const host = target.hostname.replace(/^\[|\]$/g, '').toLowerCase()
  const port = target.port === '' ? (target.protocol === 'https:' ? '443' : '80') : target.port
  return list
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*') return true
      const [, name = '', onlyPort] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(entry.toLowerCase()) ?? []
      const suffix = name.replace(/^\*?\./, '')
      return (onlyPort === undefined || onlyPort === port) && (host === suffix || host.endsWith(`.${suffix}`))
    })
}

/** The header a proxy with a user name in its URL wants, or nothing. */
export function proxyAuthorization(proxy: URL): Record<string, string> {
  if (proxy.username === '' && proxy.password === '') return {}
  const user = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
  return { 'Proxy-Authorization': `Basic ${Buffer.from(user).toString('base64')}` }
}

/**
 * @returns true for this machine and for names and addresses of a private network: servers that run a model
 * themselves and read a long prompt for minutes before they say anything
 */
export function isNearby(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase()
  return (
    isLoopback(host) ||
    /^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|169\.254\.|f[cd][0-9a-f]{2}:|fe80:)/.test(host) ||
    /\.(local|lan|internal|home\.arpa)$/.test(host) ||
    !/[.:]/.test(host)
  )
}
