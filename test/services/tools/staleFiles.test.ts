import { readFile, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JournalEntry, JournalRecord } from '../../../src/machines/journal.ts'
import { NO_USAGE } from '../../../src/machines/messages.ts'
import { seenBefore } from '../../../src/services/tools/files/seenBefore.ts'
import { type Workspace, workspace } from './fileSupport.ts'

let w: Workspace
beforeEach(async () => {
  w = await workspace()
  await writeFile(at('f'), 'one\ntwo\n')
})
afterEach(() => w.remove())

const at = (name: string) => join(w.dir, name)
const text = (name = 'f') => readFile(at(name), 'utf8')
const read = (path = 'f', more: object = {}) => w.call('read_file', { path, ...more })
const write = (content: string, path = 'f') => w.call('write_file', { path, content })
const edit = (old_text: string, new_text: string) => w.call('edit_file', { path: 'f', old_text, new_text })
const bash = (command: string) => w.call('bash', { command })

const CHANGED = {
  kind: 'error',
  content:
    'f was changed since you read it, by someone else or by a command; nothing was written. Read it again with read_file, then repeat the change on what it holds now.',
}

describe('a file that someone else changed since it was read', () => {
  test('is neither overwritten nor edited until it is read again', async () => {
    await read()
    await writeFile(at('f'), 'one\ntwo\ntheirs\n')
    expect(await write('mine')).toEqual(CHANGED)
    expect(await edit('one', '1')).toEqual(CHANGED)
    expect(await write('mine')).toEqual(CHANGED)
    expect(await text()).toBe('one\ntwo\ntheirs\n')
    await read()
    expect((await edit('one', '1')).kind).toBe('ok')
    expect(await text()).toBe('1\ntwo\ntheirs\n')
  })

  test('is noticed by its content where size and time are the same', async () => {
    await utimes(at('f'), 1000, 1000)
    await read()
    await writeFile(at('f'), 'one\n2wo\n')
    await utimes(at('f'), 1000, 1000)
    expect((await stat(at('f'))).mtimeMs).toBe(1_000_000)
    expect(await write('mine')).toEqual(CHANGED)
  })

  test('is noticed where only a part was read, through another name, or after an own write', async () => {
    await symlink('f', at('alias'))
    await read('alias', { offset: 1, limit: 1 })
    await writeFile(at('f'), 'one\ntwo\nmore\n')
    expect(await edit('one', '1')).toEqual(CHANGED)
    await read()
    await write('own\n')
    await writeFile(at('f'), 'theirs\n')
    expect(await edit('theirs', 'x')).toEqual(CHANGED)
  })

  test('is noticed where another file took its place', async () => {
    await read()
    await writeFile(at('g'), 'another\n')
    await rename(at('g'), at('f'))
    expect(await write('mine')).toEqual(CHANGED)
  })

  test('is noticed where it is too large to be read for that', async () => {
    await writeFile(at('f'), 'line\n'.repeat(4_000_000))
    await utimes(at('f'), 1000, 1000)
    await read('f', { limit: 1 })
    await writeFile(at('f'), 'l1ne\n'.repeat(4_000_000))
    await utimes(at('f'), 1000, 1000)
    expect(await write('mine')).toEqual(CHANGED)
    await read('f', { limit: 1 })
    expect((await write('x'.repeat(20_000_000))).kind).toBe('ok')
    expect((await write('y'.repeat(20_000_000))).kind).toBe('ok')
  })
})

describe('over a restart', () => {
  const asked = (id: string, name: string, input: Record<string, unknown>): JournalRecord => ({
    type: 'reply',
    id: `msg_${id}`,
    model: 'm',
    content: [{ type: 'tool_use', id, name, input }],
    stop_reason: 'tool_use',
    usage: NO_USAGE,
    measured: true,
    ms: 1,
  })
  const answered = (id: string, is_error = false): JournalRecord => ({
    type: 'toolFinished',
    id,
    content: '',
    is_error,
    ms: 1,
  })
  const opened = (): JournalRecord => ({ type: 'opened', session_id: 's', cwd: w.dir, model: 'm' })
  const entriesAt = (time: number, ...records: JournalRecord[]): JournalEntry[] =>
    records.map((record, seq) => ({ v: 1, seq, at: new Date(time).toISOString(), in: 'persisting', record }))
  const resume = (entries: JournalEntry[]) => {
    w.env.seen.clear()
    for (const [path, known] of seenBefore(entries)) w.env.seen.set(path, known)
  }
  const LATER = 3_600_000

  test('a file that was changed after the last look is refused, one that was not is written', async () => {
    const entries = (time: number) => entriesAt(time, opened(), asked('a', 'read_file', { path: 'f' }), answered('a'))
    resume(entries(Date.now() - LATER))
    expect(await write('mine')).toEqual(CHANGED)
    await read()
    expect((await edit('one', '1')).kind).toBe('ok')
    resume(entries(Date.now() + LATER))
    expect((await write('mine')).kind).toBe('ok')
  })

  test('an own write counts as a look, a failed one does not, nor do other tools or broken calls', async () => {
    const then = Date.now() - LATER
    resume(
      entriesAt(
        then,
        opened(),
        asked('a', 'write_file', { path: './f', content: '' }),
        answered('a'),
        asked('b', 'edit_file', { path: 'g' }),
        answered('b', true),
        asked('c', 'grep', { path: 'h' }),
        answered('c'),
        asked('d', 'read_file', { path: 5 }),
        answered('d'),
        asked('e', 'read_file', { path: 'never-answered' }),
      ),
    )
    expect([...w.env.seen]).toEqual([[at('f'), { kind: 'time', at: then }]])
  })
})

describe('nothing hinders', () => {
  test('a change that was taken back or a file touched', async () => {
    await read()
    await writeFile(at('f'), 'other')
    await writeFile(at('f'), 'one\ntwo\n')
    await utimes(at('f'), 5, 5)
    expect((await edit('one', '1')).kind).toBe('ok')
  })

  test('a file of several pieces that is as it was', async () => {
    await writeFile(at('f'), `${'line\n'.repeat(200_000)}last\n`)
    await read('f', { limit: 1 })
    expect((await edit('last', 'end')).kind).toBe('ok')
  })

  test('one own edit after another', async () => {
    await read()
    await edit('one', '1')
    await edit('two', '2')
    await write('3\n')
    await edit('3', '4')
    expect(await text()).toBe('4\n')
  })

  test('making a file again that is gone', async () => {
    await read()
    await rm(at('f'))
    expect(await write('again')).toEqual({ kind: 'ok', content: 'Created f (5 bytes).' })
  })

  test('overwriting a file that was never read', async () => {
    expect((await write('mine')).kind).toBe('ok')
  })
})

describe('a command of the agent that names the file', () => {
  test("does not make its change someone else's", async () => {
    await read()
    await bash("sed -i 's/one/uno/' f")
    expect((await edit('uno', 'eins')).kind).toBe('ok')
    await bash('echo drei >> ./f')
    expect((await write('alles neu\n')).kind).toBe('ok')
    await bash('rm f; echo vier > f')
    expect((await edit('vier', 'fünf')).kind).toBe('ok')
  })

  test('does not hide what someone else had changed before it', async () => {
    await read()
    await writeFile(at('f'), 'theirs\n')
    await bash('cat f; echo >> f')
    expect(await write('mine')).toEqual(CHANGED)
  })

  test('hides nothing of files it does not name, and reading them again is enough', async () => {
    await read()
    await bash('for x in *; do echo changed > "$x"; done')
    expect(await edit('changed', 'x')).toEqual(CHANGED)
    await read()
    expect((await edit('changed', 'x')).kind).toBe('ok')
  })
})
