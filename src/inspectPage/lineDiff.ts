/** Two texts compared line by line. */

export interface DiffLine {
  kind: 'same' | 'added' | 'removed'
  text: string
}

/** Beyond so many pairs of lines the middle is told as removed and added whole. */
const MOST_PAIRS = 4_000_000

/** @returns the lines of both, those in common once */
export function diffLines(before: string, after: string): DiffLine[] {
  return diffLists(before.split('\n'), after.split('\n')).map(({ kind, item }) => ({ kind, text: item }))
}

/** @returns the items of both lists, those in common once, by a longest common subsequence */
export function diffLists<T>(before: readonly T[], after: readonly T[]): Array<{ kind: DiffLine['kind']; item: T }> {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  const most = Math.min(before.length, after.length) - start
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end++
  const same = (items: readonly T[]) => items.map((item) => ({ kind: 'same' as const, item }))
  return [
    ...same(before.slice(0, start)),
    ...middle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...same(before.slice(before.length - end)),
  ]
}

function middle<T>(a: readonly T[], b: readonly T[]): Array<{ kind: DiffLine['kind']; item: T }> {
  const removed = a.map((item) => ({ kind: 'removed' as const, item }))
  const added = b.map((item) => ({ kind: 'added' as const, item }))
  if (a.length === 0 || b.length === 0 || a.length * b.length > MOST_PAIRS) return [...removed, ...added]
  const width = b.length + 1
  const length = new Uint32Array((a.length + 1) * width)
  const at = (i: number, j: number): number => length[i * width + j] ?? 0
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      length[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const result: Array<{ kind: DiffLine['kind']; item: T }> = []
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      result.push({ kind: 'same', item: a[i] as T })
      i++
      j++
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) {
      result.push({ kind: 'removed', item: a[i++] as T })
    } else result.push({ kind: 'added', item: b[j++] as T })
  }
  return result
}
