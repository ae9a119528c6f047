import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { makePlace, orderOf, type Place, times } from './support.ts'

let place: Place
beforeEach(() => {
  place = makePlace()
})
afterEach(() => place.remove())

describe('up the tree', () => {
  test('takes the file of every directory, outermost first, innermost last', async () => {
    place.write({ 'AGENTS.md': 'OUTER', 'a/AGENTS.md': 'MIDDLE', 'a/b/AGENTS.md': 'INNER', 'a/b/c/AGENTS.md': 'BELOW' })
    const system = await place.system('a/b')
    expect(orderOf(system, 'OUTER', 'MIDDLE', 'INNER', 'BELOW')).toEqual(['OUTER', 'MIDDLE', 'INNER'])
  })

  test('names each file before its text', async () => {
    place.write({ 'AGENTS.md': 'OUTER', 'a/CLAUDE.md': 'INNER' })
    const system = await place.system('a')
    expect(system).toContain(`Instructions from ${place.dir}/AGENTS.md:\nOUTER`)
    expect(system).toContain(`Instructions from ${place.dir}/a/CLAUDE.md:\nINNER`)
  })

  test('takes CLAUDE.md in each directory where there is no AGENTS.md beside it', async () => {
    place.write({ 'CLAUDE.md': 'ROOT-C', 'a/AGENTS.md': 'MID-A', 'a/CLAUDE.md': 'MID-C', 'a/b/AGENTS.md': 'LEAF-A' })
    const system = await place.system('a/b')
    expect(orderOf(system, 'ROOT-C', 'MID-A', 'MID-C', 'LEAF-A')).toEqual(['ROOT-C', 'MID-A', 'LEAF-A'])
  })

  test('an empty AGENTS.md still hides CLAUDE.md', async () => {
    place.write({ 'AGENTS.md': '', 'CLAUDE.md': 'HIDDEN' })
    expect(await place.system()).not.toContain('HIDDEN')
  })

  test('names in another case are other files', async () => {
    place.write({ 'agents.md': 'LOWER', 'Claude.md': 'MIXED' })
    expect(await place.system()).not.toMatch(/LOWER|MIXED/)
  })

  test('the root of a git repository does not stop the walk', async () => {
    place.write({ 'AGENTS.md': 'OUTSIDE', 'repo/AGENTS.md': 'INSIDE' })
    place.git('', 'init', '-q', 'repo')
    expect(orderOf(await place.system('repo'), 'OUTSIDE', 'INSIDE')).toEqual(['OUTSIDE', 'INSIDE'])
  })

  test('takes a file once by its real path', async () => {
    place.write({ 'AGENTS.md': 'ONCE' })
    mkdirSync(join(place.dir, 'a/b'), { recursive: true })
    symlinkSync('../AGENTS.md', join(place.dir, 'a/AGENTS.md'))
    symlinkSync('../../AGENTS.md', join(place.dir, 'a/b/CLAUDE.md'))
    expect(times(await place.system('a/b'), 'ONCE')).toBe(1)
    expect(place.warnings).toEqual([])
  })

  test('is byte for byte what the file says, `$` patterns included', async () => {
    const text = "Price: $& $$ $` $' $1 ${HOME} \\1 %s {{x}} </system>\n\ttab, ünïcödé, 🙂\n"
    place.write({ 'AGENTS.md': `${text}@part.md\nend`, 'part.md': "$& $' $1" })
    const system = await place.system()
    expect(system).toContain(`AGENTS.md:\n${text}$& $' $1\nend`)
  })
})

describe('files that are not as they should be', () => {
  test('a byte-order mark is left out, CRLF does no harm', async () => {
    place.write({ 'AGENTS.md': '\ufeff# Rules\r\n@part.md\r\nLAST\r\n', 'part.md': '\ufeffPART' })
    const system = await place.system()
    expect(system).toContain('AGENTS.md:\n# Rules\r\nPART\r\nLAST')
    expect(system).not.toContain('\ufeff')
    expect(place.warnings).toEqual([])
  })

  test('UTF-16, as Windows shells write it, is read', async () => {
    place.write({ 'AGENTS.md': Buffer.from('\ufeffRÜLE 🙂', 'utf16le') })
    expect(await place.system()).toContain('AGENTS.md:\nRÜLE 🙂')
  })

  test('invalid UTF-8 becomes the replacement character', async () => {
    place.write({ 'AGENTS.md': Buffer.concat([Buffer.from('caf'), Buffer.from([0xe9]), Buffer.from(' is open')]) })
    expect(await place.system()).toContain('caf\ufffd is open')
  })

  test('a binary file is left out with a warning', async () => {
    place.write({ 'AGENTS.md': Buffer.from([1, 0, 2, 0, 0x50, 0x4b]) })
    expect(await place.system()).not.toContain('Instructions from')
    expect(place.warnings).toEqual(['AGENTS.md was left out: it is not a text file.'])
  })

  test('a directory or a dangling link of that name is no file: CLAUDE.md is taken', async () => {
    place.write({ 'AGENTS.md/x': '', 'CLAUDE.md': 'OUTER', 'a/CLAUDE.md': 'INNER' })
    symlinkSync('nowhere', join(place.dir, 'a/AGENTS.md'))
    expect(orderOf(await place.system('a'), 'OUTER', 'INNER')).toEqual(['OUTER', 'INNER'])
    expect(place.warnings).toEqual([
      'AGENTS.md was left out: it is a directory.',
      'a/AGENTS.md was left out: it is a link to nothing.',
    ])
  })

  test('a FIFO is not waited for', async () => {
    execFileSync('mkfifo', [join(place.dir, 'AGENTS.md')])
    place.write({ 'CLAUDE.md': 'RULES' })
    expect(await place.system()).toContain('RULES')
    expect(place.warnings).toEqual(['AGENTS.md was left out: it is not a regular file.'])
  })

  test('a file of 5 MB is cut, innermost instructions stay', async () => {
    place.write({ 'AGENTS.md': `BEGIN${'ü'.repeat(2_500_000)}`, 'a/AGENTS.md': 'LEAF-MARK' })
    const system = await place.system('a')
    expect(system).toContain('BEGIN')
    expect(system).toContain('LEAF-MARK')
    expect(system).toContain('ü\n[… cut: only the first 256 KiB of this file are shown]')
    expect(system).not.toContain('\ufffd')
    expect(Buffer.byteLength(system)).toBeLessThan(260 * 1024)
    expect(place.warnings).toEqual([
      'AGENTS.md is too long: only its first 256 KiB of 4.8 MiB are part of the instructions. Shorten it.',
    ])
  })

  test('all together have a limit, which the outermost files pay for', async () => {
    const big = 'x'.repeat(200 * 1024)
    place.write({
      'AGENTS.md': `ONE${big}`,
      'a/AGENTS.md': `TWO${big}`,
      'a/b/AGENTS.md': `THREE${big}`,
      'a/b/c/AGENTS.md': `FOUR${big}`,
    })
    const system = await place.system('a/b/c')
    expect(orderOf(system, 'ONE', 'TWO', 'THREE', 'FOUR')).toEqual(['TWO', 'THREE', 'FOUR'])
    expect(Buffer.byteLength(system)).toBeLessThan(516 * 1024)
    expect(place.warnings).toEqual([
      'a/AGENTS.md: only the first 112 KiB of 200 KiB are used, since all instructions together may have 512 KiB. Shorten them.',
      'AGENTS.md: was left out, since all instructions together may have 512 KiB. Shorten them.',
    ])
  })

  test('warns once, not before every call', async () => {
    place.write({ 'AGENTS.md/x': '' })
    const context = place.context()
    for (let round = 0; round < 3; round++) await context.read()
    expect(place.warnings).toEqual(['AGENTS.md was left out: it is a directory.'])
  })

  test('an unreadable file is left out with a warning and still hides CLAUDE.md', async () => {
    const path = place.write({ 'AGENTS.md': 'SECRET', 'CLAUDE.md': 'HIDDEN', 'a/AGENTS.md': 'LEAF' })
    openToAll(place)
    chmodSync(path, 0)
    const seen = await asOtherUser(() => place.system('a'))
    expect(orderOf(seen, 'SECRET', 'HIDDEN', 'LEAF')).toEqual(['LEAF'])
    expect(place.warnings).toEqual(['AGENTS.md was left out: permission denied. Check its access rights.'])
  })

  test('directories above that may not be listed or looked into do not stop the walk', async () => {
    place.write({ 'AGENTS.md': 'TOP', 'a/AGENTS.md': 'NO-LIST', 'a/b/AGENTS.md': 'NO-LOOK', 'a/b/c/AGENTS.md': 'LEAF' })
    openToAll(place)
    chmodSync(join(place.dir, 'a'), 0o711)
    expect(orderOf(await asOtherUser(() => place.system('a/b')), 'TOP', 'NO-LIST', 'NO-LOOK')).toEqual([
      'TOP',
      'NO-LIST',
      'NO-LOOK',
    ])
    chmodSync(join(place.dir, 'a/b'), 0)
    const seen = await asOtherUser(() => place.system('a/b/c'))
    expect(orderOf(seen, 'TOP', 'NO-LIST', 'NO-LOOK', 'LEAF')).toEqual(['TOP', 'NO-LIST'])
  })
})

function openToAll({ dir }: Place): void {
  execFileSync('chmod', ['-R', 'go+rX', join(dir, '..')])
}

/** Root may read everything: where the tests run as root, the function runs as a user with no rights of its own. */
async function asOtherUser<T>(run: () => Promise<T>): Promise<T> {
  const { geteuid, seteuid } = process
  if (geteuid === undefined || seteuid === undefined || geteuid() !== 0) return run()
  seteuid(65534)
  try {
    return await run()
  } finally {
    seteuid(0)
  }
}
