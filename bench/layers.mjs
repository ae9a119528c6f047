/**
 * What the cheap layers of compaction cost as a conversation grows: ten times the messages may take twelve times as
 * long at most, which holds for linear work and for nothing worse. Ends with 1 where it does not.
 *
 * usage: node bench/layers.mjs [--json]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'

const ROOT = dirname(import.meta.dirname)
const SHORT = 500
const LONG = 5_000
const LIMIT = 12
/** Of each the fastest counts: whatever disturbs a run makes it slower. */
const RUNS = 30

const directory = mkdtempSync(join(tmpdir(), 'stepwright-bench-'))
try {
  const rows = measureAll(await load())
  if (process.argv.includes('--json')) console.log(JSON.stringify(rows, null, 2))
  else for (const row of rows) console.log(line(row))
  process.exitCode = rows.some(({ ratio }) => ratio > LIMIT) ? 1 : 0
} finally {
  rmSync(directory, { recursive: true, force: true })
}

/** The sources are TypeScript: bundled once, into a file that is removed again. */
async function load() {
  const machines = join(ROOT, 'src/machines')
  const contents = `
    export { isUnderPressure } from ${JSON.stringify(join(machines, 'budget.ts'))}
    export { EMPTY } from ${JSON.stringify(join(machines, 'conversation.ts'))}
    export { fold } from ${JSON.stringify(join(machines, 'fold.ts'))}
    export { POLICY } from ${JSON.stringify(join(machines, 'layers/policy.ts'))}
    export { LAYERS, trim, wishOf } from ${JSON.stringify(join(machines, 'layers/trim.ts'))}`
  const outfile = join(directory, 'layers.mjs')
  await build({ stdin: { contents, resolveDir: ROOT, loader: 'ts' }, outfile, bundle: true, format: 'esm' })
  return import(outfile)
}

function measureAll({ isUnderPressure, EMPTY, fold, POLICY, LAYERS, trim, wishOf }) {
  const conversations = [SHORT, LONG].map((count) => conversation(fold, EMPTY, count))
  const works = [
    ...LAYERS.map((layer) => [`layer ${layer}: what there is to do`, (c) => wishOf(layer, c, POLICY)]),
    ['all layers, applied', (c) => trim(c, POLICY)],
    ['the guard isUnderPressure', (c) => isUnderPressure(c)],
  ]
  return works.map(([what, work]) => {
    const [short, long] = fastest(conversations.map((c) => () => work(c)))
    return { what, short_us: short, long_us: long, ratio: long / short, limit: LIMIT }
  })
}

/** As after so many messages of calls with results of 600 characters, at the budget. */
function conversation(fold, empty, count) {
  const limits = { max_turns: 250, input_tokens: count * 100 }
  const prompt = { type: 'prompt', text: 'go', blocks: [{ type: 'text', text: 'go' }], cwd: '/', limits }
  const begun = fold([{ type: 'opened', session_id: 's', cwd: '/', model: 'm' }, prompt], empty)
  const messages = [{ role: 'user', content: prompt.blocks }]
  for (let n = 0; messages.length < count; n++) {
    messages.push({ role: 'assistant', content: [{ type: 'tool_use', id: `c${n}`, name: 'bash', input: { n } }] })
    messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: `c${n}`, content: 'x'.repeat(600) }] })
  }
  messages.push({ role: 'assistant', content: [{ type: 'text', text: 'so far' }] })
  return { ...begun, messages, pending: [], gauge: limits.input_tokens }
}

/** @returns for each work the microseconds of its fastest run; they take turns, so that a busy moment meets both */
function fastest(works) {
  const counts = works.map((work) => {
    let calls = 1
    while (time(work, calls) < 5_000) calls *= 2
    return calls
  })
  const best = works.map(() => Number.POSITIVE_INFINITY)
  for (let run = 0; run < RUNS; run++)
    for (const [i, work] of works.entries()) best[i] = Math.min(best[i], time(work, counts[i]) / counts[i])
  return best
}

function time(work, calls) {
  const began = performance.now()
  for (let n = 0; n < calls; n++) work()
  return (performance.now() - began) * 1000
}

function line({ what, short_us, long_us, ratio }) {
  const us = (value) => `${value.toFixed(0)} µs`.padStart(10)
  const verdict = ratio > LIMIT ? `over ${LIMIT}` : 'ok'
  return `${what.padEnd(36)} ${us(short_us)} ${us(long_us)}   ratio ${ratio.toFixed(1)} (${verdict})`
}
