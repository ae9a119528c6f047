/** Keeps secrets out of every sentence that leaves the service: servers and HTTP clients like to quote the key. */

/** Shorter values are words such as "local" or "dummy" that a local server takes for a key, and no secret. */
const SHORTEST_SECRET = 6

export type Redact = (text: string) => string

/**
 * @param secrets the key and the token of this run
 * @returns a function that replaces each of them, also as it stands in URLs and base64
 */
export function redactor(secrets: ReadonlyArray<string | null | undefined>): Redact {
  const shapes = secrets
    .filter((secret): secret is string => (secret ?? '').length >= SHORTEST_SECRET)
    .flatMap((secret) => [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')])
  return (text) => shapes.reduce((result, shape) => result.split(shape).join('[key]'), text)
}
