/** Looking for words in a session: in what its records say, in the order of its steps. */
import type { JournalRecord } from '../../machines/journal.ts'
import { type Veil, veiledText } from './veil.ts'
import type { SessionView } from './view.ts'
import type { SearchJson } from './wire.ts'

const MOST_HITS = 200
/** Characters around a match. */
const AROUND = 60

/** @param words compared without regard to case; nothing is found for blank ones */
export function search(view: SessionView, words: string, veil: Veil): SearchJson {
  const wanted = words.trim().toLowerCase()
  const hits: SearchJson['hits'] = []
  if (wanted === '') return { hits, more: false }
  for (const { n, record, from, to, event } of view.replay.transitions) {
    const texts = record === undefined ? [`${from} ${to} ${event}`] : textsOf(record)
    for (const text of texts) {
      const at = text.toLowerCase().indexOf(wanted)
      if (at < 0) continue
      if (hits.length === MOST_HITS) return { hits, more: true }
      const cut = (part: string): string => veiledText(part.replace(/\s+/g, ' '), veil)
      hits.push({
        n,
        where: record?.type ?? event,
        before: cut(text.slice(Math.max(0, at - AROUND), at)),
        match: cut(text.slice(at, at + wanted.length)),
        after: cut(text.slice(at + wanted.length, at + wanted.length + AROUND)),
      })
      break
    }
  }
  return { hits, more: false }
}

/** Every text in a record, pictures aside. */
function textsOf(record: JournalRecord): string[] {
  const texts: string[] = []
  const walk = (value: unknown, key: string): void => {
    if (typeof value === 'string') {
      if (key !== 'data' && key !== 'signature') texts.push(value)
    } else if (Array.isArray(value)) for (const item of value) walk(item, key)
    else if (value !== null && typeof value === 'object')
      for (const [name, item] of Object.entries(value)) walk(item, name)
  }
  walk(record, '')
  return texts
}
