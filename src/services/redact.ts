/**
 * Secrets kept out of what is shown. Two strengths: texts that have the shape of a token are always replaced; all
 * content is masked where someone looks over the shoulder. Pure.
 */

/** Shapes that are a secret wherever they stand, as their makers publish them for scanners. */
const TOKENS: readonly RegExp[] = [
  /\bsk-(?:ant-|proj-|or-v1-|svcacct-|admin-)?[A-Za-z0-9_-]{16,}/g,
  /\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\bglpat-[A-Za-z0-9_-]{16,}/g,
  /\bnpm_[A-Za-z0-9]{30,}/g,
  /\bpypi-[A-Za-z0-9_-]{40,}/g,
  /\bhf_[A-Za-z0-9]{30,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{35}/g,
  /\bya29\.[A-Za-z0-9_-]{20,}/g,
  /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g,
  /\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g,
]

/** A key in PEM: what stands between its two lines. */
const PRIVATE_KEY = /(-----BEGIN [A-Z ]*PRIVATE KEY-----)[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g
/** What follows a scheme in a header of HTTP; a password in a URL. */
const BEARER = /\b(Bearer|Basic)(\s+)[A-Za-z0-9._~+/-]{16,}=*/g
const URL_PASSWORD = /\b([a-z][a-z0-9+.-]*:\/\/[^\s/:@]+:)[^\s/@]+(@)/gi

/** Stands for a secret. */
const REDACTED = '[redacted]'

/** @returns the text without what has the shape of a secret; the same text where nothing has */
export function withoutTokens(text: string): string {
  const shaped = TOKENS.reduce((result, shape) => result.replace(shape, REDACTED), text)
  return shaped
    .replace(PRIVATE_KEY, `$1 ${REDACTED} $2`)
    .replace(BEARER, `$1$2${REDACTED}`)
    .replace(URL_PASSWORD, `$1${REDACTED}$2`)
}

/** @returns the text with every letter, digit and sign as a dot: its length and its lines stay */
export function masked(text: string): string {
  return text.replace(/\S/gu, '•')
}
