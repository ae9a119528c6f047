/** The user's own files, changed by several processes at once and by one that may be killed. */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { parse } from 'jsonc-parser'
import { describe, expect, test, vi } from 'vitest'
import { keepRules } from '../../../src/services/settings/keepRules.ts'
import { changeTrust, listTrusted } from '../../../src/services/settings/trust.ts'
import { temporaryDirectory } from '../../support/agent.ts'
import { atOnce } from '../../support/atOnce.ts'

vi.setConfig({ testTimeout: 120_000 })

const PROCESSES = Array.from({ length: 12 }, (_, n) => String(n))
const EACH = ['a', 'b', 'c']
const mode = (path: string): number => statSync(path).mode & 0o777

const KEEPS = `
  import { keepRules } from '../../src/services/settings/keepRules.ts'
  const [home, n] = args
  for (const one of ${JSON.stringify(EACH)}) {
    const kept = await keepRules(home, ['Bash(' + n + one + ')'])
    if (!kept.ok) console.error(kept.message)
  }`

const TRUSTS = `
  import { changeTrust } from '../../src/services/settings/trust.ts'
  const [home, n] = args
  for (const one of ${JSON.stringify(EACH)}) {
    const changed = await changeTrust(home, 'add', '/' + n + one)
    if (!changed.ok || !changed.value) console.error(changed)
  }`

const COMMENTED = `{
    // Mine.
    "model": "m", // the cheap one
    "permissions": {
        "allow": [
            "Read", // everywhere
        ],
        "deny": ["Bash(rm:*)"], // never
    },
}
`

describe('twelve processes at once', () => {
  const rules = PROCESSES.flatMap((n) => EACH.map((one) => `Bash(${n}${one})`))

  test('keep all their rules, in a file that others may link to', async () => {
    const [home, dotfiles] = [temporaryDirectory(), temporaryDirectory()]
    const [link, target] = [join(home, 'settings.json'), join(dotfiles, 'agent.json')]
    writeFileSync(target, COMMENTED)
    symlinkSync(target, link)
    await atOnce(
      KEEPS,
      PROCESSES.map((n) => [home, n]),
    )
    expect(readlinkSync(link)).toBe(target)
    const text = readFileSync(target, 'utf8')
    const kept = (parse(text) as { permissions: { allow: string[] } }).permissions.allow
    expect([kept[0], kept.slice(1).sort()]).toEqual(['Read', rules.sort()])
    const lines = text.split('\n').filter((line) => !line.includes('"Bash(') || line.includes('rm:'))
    expect(lines.join('\n')).toBe(COMMENTED)
    expect([mode(target), readdirSync(home), readdirSync(dotfiles)]).toEqual([0o600, ['settings.json'], ['agent.json']])
  })

  test('begin the settings of a home that is not there yet', async () => {
    const home = join(temporaryDirectory(), 'not', 'there')
    await atOnce(
      KEEPS,
      PROCESSES.map((n) => [home, n]),
    )
    const value = JSON.parse(readFileSync(join(home, 'settings.json'), 'utf8')) as { permissions: { allow: string[] } }
    expect(value.permissions.allow.sort()).toEqual(rules.sort())
    expect([mode(home), mode(join(home, 'settings.json')), readdirSync(home)]).toEqual([
      0o700,
      0o600,
      ['settings.json'],
    ])
  })

  test('trust all their directories', async () => {
    const home = join(temporaryDirectory(), 'home')
    await atOnce(
      TRUSTS,
      PROCESSES.map((n) => [home, n]),
    )
    const all = PROCESSES.flatMap((n) => EACH.map((one) => `/${n}${one}`))
    expect(listTrusted(home)).toEqual({ ok: true, value: all.sort() })
    expect([mode(join(home, 'trust.json')), readdirSync(home)]).toEqual([0o600, ['trust.json']])
  })
})

describe('a change', () => {
  test('carries on after a process that was killed in the middle of one', async () => {
    const home = temporaryDirectory()
    writeFileSync(join(home, '.trust.json.lock'), JSON.stringify({ pid: 2 ** 22 + 1, host: '', started: null }))
    writeFileSync(join(home, '.trust.json.new'), '{"trus', { mode: 0o644 })
    expect(await changeTrust(home, 'add', '/a')).toEqual({ ok: true, value: true })
    expect([readdirSync(home), mode(join(home, 'trust.json'))]).toEqual([['trust.json'], 0o600])
    expect(listTrusted(home)).toEqual({ ok: true, value: ['/a'] })
  })

  test('follows a link to a file that is still to be made', async () => {
    const [home, dotfiles] = [temporaryDirectory(), temporaryDirectory()]
    symlinkSync(join(dotfiles, 'new', 'trust.json'), join(home, 'trust.json'))
    expect(await changeTrust(home, 'add', '/a')).toEqual({ ok: true, value: true })
    expect(lstatSync(join(home, 'trust.json')).isSymbolicLink()).toBe(true)
    expect(JSON.parse(readFileSync(join(dotfiles, 'new', 'trust.json'), 'utf8'))).toEqual({ trusted: ['/a'] })
  })

  test('leaves settings alone that are a link to nothing: what they forbid would be gone without a word', async () => {
    const home = temporaryDirectory()
    symlinkSync(join(home, 'gone.json'), join(home, 'settings.json'))
    const message = `${join(home, 'settings.json')} is a link to nothing. Mend or remove it.`
    expect(await keepRules(home, ['Bash(a)'])).toEqual({ ok: false, message })
    expect(readdirSync(home)).toEqual(['settings.json'])
  })

  test('leaves the directory of a linked file as open as it is', async () => {
    const [home, dotfiles] = [temporaryDirectory(), temporaryDirectory()]
    chmodSync(dotfiles, 0o755)
    symlinkSync(join(dotfiles, 'settings.json'), join(home, 'settings.json'))
    writeFileSync(join(dotfiles, 'settings.json'), '{}')
    expect(await keepRules(home, ['Bash(a)'])).toEqual({ ok: true, value: null })
    expect(mode(dotfiles)).toBe(0o755)
  })

  test('that changes nothing needs no right to write', async () => {
    const home = temporaryDirectory()
    writeFileSync(join(home, 'trust.json'), '{"trusted": ["/a"]}', { mode: 0o400 })
    chmodSync(home, 0o500)
    const before = statSync(home).mtimeMs
    expect(await changeTrust(home, 'add', '/a')).toEqual({ ok: true, value: false })
    expect(await changeTrust(home, 'remove', '/b')).toEqual({ ok: true, value: false })
    expect(statSync(home).mtimeMs).toBe(before)
    chmodSync(home, 0o700)
  })

  test('of a file that cannot be one is refused', async () => {
    const home = temporaryDirectory()
    mkdirSync(join(home, 'settings.json'))
    const message = `${join(home, 'settings.json')} is not a file. Move it away.`
    expect(await keepRules(home, ['Bash(a)'])).toEqual({ ok: false, message })
  })

  test.skipIf(process.getuid?.() === 0)('of a file that is read-only is refused, with its name', async () => {
    const home = temporaryDirectory()
    writeFileSync(join(home, 'settings.json'), '{}', { mode: 0o400 })
    const message = `${join(home, 'settings.json')} cannot be written (EACCES). Check its access rights.`
    expect(await keepRules(home, ['Bash(a)'])).toEqual({ ok: false, message })
    expect([readFileSync(join(home, 'settings.json'), 'utf8'), readdirSync(home)]).toEqual(['{}', ['settings.json']])
  })
})
