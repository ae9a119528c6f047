import { expect, test } from 'vitest'
import { masked, withoutTokens } from '../../src/services/redact.ts'

const A = 'A1b2C3d4E5f6G7h8I9j0'

test.each([
  `sk-ant-api03-${A}${A}`,
  `sk-proj-${A}${A}`,
  `ghp_${A}${A}`,
  `github_pat_${A}_${A}`,
  `glpat-${A}`,
  `npm_${A}${A}`,
  `hf_${A}${A}`,
  'AKIAIOSFODNN7EXAMPLE',
  `AIza${A}${A.slice(0, 15)}`,
  `xoxb-123456789012-${A}`,
  `sk_live_${A}${A}`,
  `eyJhbGciOiJI.eyJzdWIiOiIx.${A}`,
])('%s is replaced wherever it stands', (token) => {
  for (const text of [token, `KEY=${token}\n`, `{"key": "${token}"}`, `curl -H 'x-api-key: ${token}'`]) {
    const shown = withoutTokens(text)
    expect(shown).toBe(text.replace(token, '[redacted]'))
  }
})

test('headers, passwords in addresses and private keys lose what is secret and nothing else', () => {
  expect(withoutTokens(`Authorization: Bearer ${A}==`)).toBe('Authorization: Bearer [redacted]')
  expect(withoutTokens('postgres://me:s3cret@db:5432/x')).toBe('postgres://me:[redacted]@db:5432/x')
  expect(withoutTokens('-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----\nafter')).toBe(
    '-----BEGIN RSA PRIVATE KEY----- [redacted] -----END RSA PRIVATE KEY-----\nafter',
  )
})

test.each([
  'git commit 8b1a9953c4611296a827abf8c47804d7e6c49c6b',
  'task-runner-configuration-with-a-long-name',
  'https://example.com/a?b=c',
  'see http://user@example.com and a: b@c',
  'The token count is 12345.',
  'sk-short',
])('%s stays', (text) => expect(withoutTokens(text)).toBe(text))

test('masked text keeps its length and lines', () => {
  expect(masked('a b\nçd 😀')).toBe('• •\n•• •')
})

test('long texts take no long', () => {
  const text = `${'x'.repeat(200_000)}://${'a:'.repeat(50_000)} Bearer ${'-----BEGIN PRIVATE KEY-----'.repeat(2_000)}`
  expect(withoutTokens(text)).toContain('[redacted]')
})
