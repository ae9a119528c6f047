import { describe, expect, test } from 'vitest'
import { entryText, parseEntry } from '../../src/machines/entryText.ts'
import type { JournalEntry } from '../../src/machines/journal.ts'

const at = '2026-11-30T16:20:00.123Z'
const usage = { input_tokens: 1, output_tokens: 2, cache_creation_input_tokens: 3, cache_read_input_tokens: 4 }
const reply = { type: 'reply' as const, id: 'm', model: 'x', content: [], stop_reason: null, usage, ms: 5 }

const ENTRIES: Array<[string, JournalEntry, string]> = [
  [
    'a reply',
    { v: 1, seq: 3, at, in: 'calling', record: { ...reply, measured: true } },
    '[1,3,1796055600123,{"type":"reply","id":"m","model":"x","content":[],"stop_reason":null,"usage":[1,2,3,4],"ms":5}]',
  ],
  [
    'a reply that was not measured',
    { v: 1, seq: 3, at, in: 'calling', record: { ...reply, measured: false } },
    '[1,3,1796055600123,{"type":"reply","id":"m","model":"x","content":[],"stop_reason":null,"usage":[1,2,3,4],"ms":5,"measured":false}]',
  ],
  [
    'a result',
    {
      v: 1,
      seq: 0,
      at,
      in: 'runningTool',
      record: { type: 'toolFinished', id: 't', content: 'a', is_error: false, ms: 1 },
    },
    '[1,0,1796055600123,{"type":"toolFinished","id":"t","content":"a","ms":1}]',
  ],
  [
    'an error that arrived in another state than usual',
    {
      v: 1,
      seq: 0,
      at,
      in: 'persisting',
      record: { type: 'toolFinished', id: 't', content: 'a', is_error: true, ms: 1 },
    },
    '[1,0,1796055600123,{"type":"toolFinished","id":"t","content":"a","ms":1,"is_error":true},"persisting"]',
  ],
]

describe('an entry as text', () => {
  test.each(ENTRIES)('%s is written shortly and read back whole', (_, entry, text) => {
    expect(entryText(entry)).toBe(text)
    expect(parseEntry(text, entry.seq)).toEqual({ kind: 'entry', entry })
  })

  test.each([
    ['no JSON', '[1,', { kind: 'damaged', reason: 'it is not JSON' }],
    ['an object', '{"v":1}', { kind: 'damaged', reason: 'it is not an array' }],
    ['no version', '[]', { kind: 'damaged', reason: 'it has no version' }],
    ['a newer version', '[2,0]', { kind: 'newer', version: 2 }],
    ['another place', '[1,7,0,{"type":"resumed"}]', { kind: 'damaged', reason: 'it says it is number 7' }],
    ['no time', '[1,0,"now",{"type":"resumed"}]', { kind: 'damaged', reason: 'it has no time' }],
    ['a time beyond all', '[1,0,1e300,{"type":"resumed"}]', { kind: 'damaged', reason: 'it has no time' }],
    [
      'an unknown record',
      '[1,0,0,{"type":"constructor"}]',
      { kind: 'damaged', reason: 'its record is of no known type' },
    ],
    ['no record', '[1,0,0,null]', { kind: 'damaged', reason: 'its record is of no known type' }],
    [
      'a reply without usage',
      '[1,0,0,{"type":"reply"}]',
      { kind: 'damaged', reason: 'its record is of no known type' },
    ],
    [
      'a prompt without blocks',
      '[1,0,0,{"type":"prompt","text":"x"}]',
      { kind: 'damaged', reason: 'its record has no proper blocks' },
    ],
    [
      'a reply whose content is no list of blocks',
      '[1,0,0,{"type":"reply","usage":[1,2,3,4],"content":[null],"stop_reason":null,"ms":1}]',
      { kind: 'damaged', reason: 'its record has no proper content' },
    ],
  ])('%s is told from an entry', (_, text, parsed) => {
    expect(parseEntry(text, 0)).toEqual(parsed)
  })
})
