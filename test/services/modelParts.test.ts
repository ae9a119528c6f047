import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readable, retryAfter } from '../../src/services/model/failure.ts'
import { checkBaseUrl, checkKey } from '../../src/services/model/key.ts'
import { createPatience, RETRY_MS } from '../../src/services/model/patience.ts'
import { costOf, DEFAULT_MODEL, maxOutputOf, windowOf } from '../../src/services/model/prices.ts'
import { isNearby } from '../../src/services/model/proxy.ts'
import { redactor } from '../../src/services/model/redact.ts'
import { transportError } from '../../src/services/model/transportError.ts'
import { Headers as OurHeaders } from '../../src/services/model/webHeaders.ts'

describe('a key', () => {
  it.each(['sk-ant-SECRET', ' sk-ant-SECRET', 'sk-ant-SECRET\r\n', '\ufeffsk-ant-SECRET\t'])(
    'is taken without the white space around it: %j',
    (raw) => {
      expect(checkKey(raw)).toEqual({ ok: true, value: 'sk-ant-SECRET' })
    },
  )

  it.each([
    'sk-ant\nSECRET',
    'sk-ant\r\nSECRET',
    'sk-ant\u0000SECRET',
    'sk-ant-SECRET\u200b',
    'schlüssel-SECRET',
    'SECRET\u007f-x',
  ])('with a character no header may have is an error that does not hold it: %j', (raw) => {
    expect(checkKey(raw, 'ANTHROPIC_AUTH_TOKEN')).toEqual({
      ok: false,
      message:
        'ANTHROPIC_AUTH_TOKEN holds a line end, a control character or a letter outside ASCII: copy the key again, as one line.',
    })
  })

  it.each([undefined, '', ' \n'])('that is missing is said so: %j', (raw) => {
    expect(checkKey(raw)).toEqual({ ok: false, message: 'ANTHROPIC_API_KEY is not set: set it to your API key.' })
  })
})

describe('a base URL', () => {
  it.each([
    [undefined, 'https://api.anthropic.com'],
    [' ', 'https://api.anthropic.com'],
    ['http://localhost:8080', 'http://localhost:8080'],
    [' http://localhost:8080/ ', 'http://localhost:8080'],
    ['https://host/a/b//', 'https://host/a/b'],
    ['http://[::1]:80/', 'http://[::1]'],
  ])('%j is %s', (raw, value) => {
    expect(checkBaseUrl(raw)).toEqual({ ok: true, value })
  })

  it.each([
    ['localhost:8080', 'begins with neither http:// nor https://'],
    ['127.0.0.1', 'is not an address'],
    ['ftp://x', 'begins with neither http:// nor https://'],
    ['http://x?y=1', 'has a query or a fragment'],
  ])('%s is refused', (raw, why) => {
    expect(checkBaseUrl(raw)).toEqual({
      ok: false,
      message: `ANTHROPIC_BASE_URL ${why}: write it as http://host:port or https://host/prefix.`,
    })
  })
})

describe('what is known of models', () => {
  const usage = {
    input_tokens: 1e6,
    output_tokens: 1e6,
    cache_creation_input_tokens: 1e6,
    cache_read_input_tokens: 1e6,
  }

  it('is price, window and output', () => {
    expect([costOf('claude-sonnet-5', usage), windowOf('claude-sonnet-5'), maxOutputOf('claude-sonnet-5')]).toEqual([
      2 + 10 + 2.5 + 0.2,
      1_000_000,
      32_000,
    ])
    expect([windowOf('claude-haiku-4-5-20251001'), costOf('anthropic/claude-opus-5', usage)]).toEqual([200_000, 36.75])
  })

  it('is nothing for others: no cost, no window, a careful output', () => {
    for (const name of ['qwen3-coder', 'claude-sonnet-5-turbo', '', 'constructor', '__proto__'])
      expect([costOf(name, usage), windowOf(name), maxOutputOf(name)]).toEqual([null, null, 8192])
  })

  it('holds for the default model', () => {
    expect([costOf(DEFAULT_MODEL, usage), windowOf(DEFAULT_MODEL)]).not.toContain(null)
  })

  it('is dearer for a long input where the price depends on it', () => {
    const short = {
      input_tokens: 0,
      output_tokens: 1e6,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 100_000,
    }
    expect(costOf('claude-haiku-5-5', short)).toBeCloseTo(0.5 + 0.001)
    expect(costOf('claude-haiku-5-5', { ...short, input_tokens: 1 })).toBeCloseTo(2.5 + 0.005)
  })
})

describe('patience', () => {
  const passing = (patience: 'long' | 'short' = 'long', waitMs: number | null = null) =>
    ({ kind: 'passing', message: '', status: null, patience, waitMs }) as const

  it('waits half a second, then twice as long each time up to 15 seconds, at most two minutes in all', () => {
    const patience = createPatience(RETRY_MS, () => 0)
    const waits: number[] = []
    let now = 1000
    for (;;) {
      const verdict = patience.judge(passing(), 0, now)
      if (verdict.kind === 'giveUp') break
      waits.push(verdict.ms)
      now += verdict.ms
    }
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 15000, 15000, 15000, 15000, 15000, 15000])
  })

  it('never lets the waits exceed its limit, whatever the failures and the jitter', () => {
    const step = fc.record({
      patience: fc.constantFrom('long' as const, 'short' as const),
      waitMs: fc.option(fc.nat(200_000)),
      took: fc.nat(20_000),
      random: fc.double({ min: 0, max: 0.999, noNaN: true }),
    })
    fc.assert(
      fc.property(fc.array(step, { minLength: 1 }), fc.nat(200_000), (steps, totalMs) => {
        let random = 0
        const patience = createPatience(totalMs, () => random)
        let now = 5000
        let since: number | null = null
        for (const each of steps) {
          random = each.random
          now += each.took
          since ??= now
          const verdict = patience.judge(passing(each.patience, each.waitMs), 0, now)
          if (verdict.kind === 'giveUp') return
          now += verdict.ms
          expect(now - since).toBeLessThanOrEqual(each.patience === 'short' ? totalMs / 4 : totalMs)
          expect(verdict.ms).toBeGreaterThanOrEqual(each.waitMs ?? 0)
        }
      }),
    )
  })
})

describe('retry-after', () => {
  const now = Date.parse('2026-11-30T12:00:00Z')
  it.each([
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after': ' 0.5 ' }, 500],
    [{ 'retry-after-ms': '250', 'retry-after': '7' }, 250],
    [{ 'retry-after': 'Mon, 30 Nov 2026 12:00:09 GMT' }, 9000],
    [{ 'retry-after': 'Mon, 30 Nov 2026 11:00:00 GMT' }, 0],
    [{ 'retry-after': 'soon' }, null],
    [{ 'retry-after': '' }, null],
    [{}, null],
  ])('%j is %s ms', (fields, ms) => {
    expect(retryAfter(new OurHeaders(fields as Record<string, string>), now)).toBe(ms)
  })
})

describe('words for people', () => {
  it('hold no tag, no control character and no more than 200 characters', () => {
    expect(readable('<html><head><style>x{}</style></head><body>\u001b[31mBad\r\n\tgateway</body></html>')).toBe(
      '[31mBad gateway',
    )
    expect([...readable('😀'.repeat(500))].length).toBe(201)
    expect(readable(' <p> ')).toBe('an empty answer')
  })

  it('hold no secret in any shape, but keep short words that are none', () => {
    const redact = redactor(['sk-a+b/c', null, 'dummy'])
    expect(
      redact(`sk-a+b/c ${encodeURIComponent('sk-a+b/c')} ${Buffer.from('sk-a+b/c').toString('base64')} dummy`),
    ).toBe('[key] [key] [key] dummy')
  })

  it('never say that something timed out, which the SDK would take for a timeout of its own', () => {
    for (const code of ['ETIMEDOUT', 'ESOCKETTIMEDOUT', 'ECONNRESET']) {
      const error = transportError(Object.assign(new Error(`connect ${code}`), { code }), 'host:1')
      expect(`${error}`).not.toMatch(/time(d)? ?out/i)
    }
    const twice = new AggregateError([Object.assign(new Error('x'), { code: 'ECONNREFUSED' })])
    expect(transportError(twice, 'h:1').message).toBe('nothing answers at h:1 (ECONNREFUSED)')
  })
})

describe('a server nearby', () => {
  it.each([
    'localhost',
    '127.0.0.1',
    '[::1]',
    '10.1.2.3',
    '192.168.0.9',
    '172.20.0.1',
    'gpu-box',
    'gpu.local',
    'fd12::1',
  ])('is %s', (host) => {
    expect(isNearby(host)).toBe(true)
  })
  it.each(['api.anthropic.com', '8.8.8.8', '172.32.0.1', '2606:4700::1', 'fda.gov'])('is not %s', (host) => {
    expect(isNearby(host)).toBe(false)
  })
})

describe('our Headers', () => {
  it('behave like the web’s in what the SDK does with them', () => {
    const act = (headers: Headers | OurHeaders) => {
      headers.append('Content-Type', ' a ')
      headers.append('content-type', 'b')
      headers.set('X-Key', '1')
      headers.set('x-key', '2')
      headers.append('Gone', 'x')
      headers.delete('gone')
      const listed: string[] = []
      headers.forEach((value, name) => {
        listed.push(`${name}: ${value}`)
      })
      return [
        listed,
        [...headers.entries()],
        [...headers],
        headers.get('CONTENT-type'),
        headers.get('no'),
        headers.has('X-KEY'),
      ]
    }
    expect(act(new OurHeaders())).toEqual(act(new Headers()))
    const rows: Array<[string, string]> = [
      ['A', '1'],
      ['a', '2'],
    ]
    expect([...new OurHeaders(rows)]).toEqual([...new Headers(rows)])
    expect([...new OurHeaders(new OurHeaders(rows))]).toEqual([['a', '1, 2']])
    expect([...new OurHeaders({ B: 'x' })]).toEqual([...new Headers({ B: 'x' })])
  })
})
