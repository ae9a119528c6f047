import { expect, test } from 'vitest'
import { redactorOf, redactTools } from '../../src/run/redactKey.ts'
import type { ToolsPort } from '../../src/services/ports.ts'
import { masked, withoutTokens } from '../../src/services/redact.ts'

test.each([
  ['a key of Anthropic', 'sk-ant-api03-Ab1_Cd2-Ef3Gh4Ij5Kl6'],
  ['a key of OpenAI', 'sk-proj-abcdefghijklmnopqrstuv'],
  ['a token of GitHub', 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'],
  ['a fine-grained token of GitHub', 'github_pat_11ABCDEFG0abcdefghijkl_mnopq'],
  ['a token of GitLab', 'glpat-abcdefghij0123456789'],
  ['a token of npm', 'npm_abcdefghijklmnopqrstuvwxyz0123456789'],
  ['a key id of AWS', 'AKIAIOSFODNN7EXAMPLE'],
  ['a key of Google', 'AIzaSyA-abcdefghijklmnopqrstuvwxyz01234'],
  ['a token of Slack', 'xoxb-123456789012-abcdefghijkl'],
  ['a key of Stripe', 'sk_live_abcdefghijklmnop1234'],
  ['a JSON web token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.abcdefghijklmnop'],
])('%s is replaced, the words around it stay', (_, token) => {
  expect(withoutTokens(`before ${token} after "${token}"`)).toBe('before [redacted] after "[redacted]"')
})

test('keys between their lines, headers and passwords in addresses are replaced', () => {
  const key = '-----BEGIN RSA PRIVATE KEY-----\nMIIabc\ndef=\n-----END RSA PRIVATE KEY-----'
  expect(withoutTokens(`${key} rest`)).toBe(
    '-----BEGIN RSA PRIVATE KEY----- [redacted] -----END RSA PRIVATE KEY----- rest',
  )
  expect(withoutTokens('-----BEGIN PRIVATE KEY-----\nMIIabc')).toBe('-----BEGIN PRIVATE KEY----- [redacted] ')
  expect(withoutTokens('Authorization: Bearer abcdefghijklmnopqrst==')).toBe('Authorization: Bearer [redacted]')
  expect(withoutTokens('postgres://me:pass@db.example/x and http://host:8080/@a')).toBe(
    'postgres://me:[redacted]@db.example/x and http://host:8080/@a',
  )
})

test.each([
  'sk-short',
  'the skeleton-key of a task-list-with-many-words',
  'const eyJust = 1',
  'a bearer of news that is quite long',
  'me@example.org',
  'https://example.org/a:b@c',
  'AKIA',
  '',
])('what is no secret stays: %s', (text) => {
  expect(withoutTokens(text)).toBe(text)
})

test('masked text keeps its lines and its length in characters, and nothing else', () => {
  expect(masked('Two words,\n\tone \u{1f600} é.')).toBe('••• ••••••\n\t••• • ••')
})

test('of two keys of which one holds the other, nothing is left', () => {
  const [key, token] = ['key-of-the-model', 'key-of-the-model-and-more']
  const redactor = redactorOf({ ANTHROPIC_API_KEY: key, ANTHROPIC_AUTH_TOKEN: token })
  expect(redactor?.redact(`${token} ${key} local`)).toBe(
    '[the key of the model was here] [the key of the model was here] local',
  )
  expect(redactorOf({ ANTHROPIC_API_KEY: 'local' })).toBeNull()
})

test('an output that comes in pieces loses the key that lies across two, and no half of a character', async () => {
  const key = 'key-of-the-models'
  const tools: ToolsPort = {
    specs: () => [],
    check: async () => ({
      kind: 'ready',
      effect: { kind: 'none' },
      plan: { key: null },
      run: async ({ spool }) => {
        for (const piece of ['\u{1f600}'.repeat(20), 'x key-of-', 'the-models \u{1f600}y']) spool?.write(piece)
        return { kind: 'ok', content: '' }
      },
    }),
  }
  const checked = await redactTools(tools, redactorOf({ ANTHROPIC_API_KEY: key })).check(
    { type: 'tool_use', id: 'a', name: 'bash', input: {} },
    '/',
  )
  const pieces: Buffer[] = []
  const env = { cwd: '/', signal: new AbortController().signal, childEnv: {}, seen: new Map() }
  const spool = { write: (text: string) => void pieces.push(Buffer.from(text)) }
  if (checked.kind === 'ready') await checked.run({ ...env, spool })
  expect(Buffer.concat(pieces).toString()).toBe(`${'\u{1f600}'.repeat(20)}x [the key of the model was here] \u{1f600}y`)
})
