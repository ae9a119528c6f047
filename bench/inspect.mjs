/**
 * `npm run bench:inspect`: what a person waits for in `agent inspect` with a session of 2,000 transitions and more: the
 * page's first draw, one step by key, a jump, a tab, and the server's own part of it. Needs Chromium. Ends with 1
 * where something takes longer than one does not notice (100 ms; the first draw: a second).
 *
 * usage: node bench/inspect.mjs [--json]
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { chromium } from 'playwright-core'
import { median, startServer, timedRun } from './measure.mjs'

const ROOT = dirname(import.meta.dirname)
const CLI = join(ROOT, 'dist/cli.js')
/** Seven transitions a round. */
const ROUNDS = 300
const TIMES = 40

const directory = mkdtempSync(join(tmpdir(), 'stepwright-bench-'))
const project = join(directory, 'project')
mkdirSync(project)
const env = {
  PATH: process.env.PATH,
  HOME: directory,
  AGENT_HOME: join(directory, '.agent'),
  ANTHROPIC_API_KEY: 'bench',
}

const server = await startServer()
try {
  const args = ['-C', project, '--yes', '--max-turns', '1000', '--output-format', 'json', '-p', 'Run echo.']
  const command = [process.execPath, CLI, ...args]
  await timedRun(server, { command, cwd: project, env: { ...env, ANTHROPIC_BASE_URL: server.url } }, ROUNDS)
  const rows = await measure()
  if (process.argv.includes('--json')) console.log(JSON.stringify(rows, null, 2))
  else print(rows)
  process.exitCode = rows.some(({ ms, limit }) => ms > limit) ? 1 : 0
} finally {
  server.stop()
  rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
}

async function measure() {
  const began = performance.now()
  const child = spawn(process.execPath, [CLI, '-C', project, 'inspect', '--no-open'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const address = await new Promise((resolve, reject) => {
    child.stdout.once('data', (data) => resolve(data.toString().trim()))
    child.once('exit', () => reject(new Error('agent inspect ended.')))
  })
  const ready = performance.now() - began
  const browser = await chromium.launchPersistentContext(join(directory, 'browser'), {
    executablePath: findBrowser(),
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
  try {
    const page = await browser.newPage()
    await page.setViewportSize({ width: 1280, height: 800 })
    const draws = []
    for (let n = 0; n < 7; n++) {
      await page.goto('about:blank')
      await page.goto(address)
      draws.push(await page.evaluate(whenDrawn))
    }
    const of = Number((await page.textContent('#position')).split('/')[1])
    if (of < 2000) throw new Error(`The session has ${of} transitions only.`)
    const timed = async (name, keys, limit = 100) => {
      const times = await page.evaluate(timeKeys, keys)
      const sorted = times.toSorted((a, b) => a - b)
      return { name, ms: median(times), worst: sorted[Math.floor(sorted.length * 0.95)], limit }
    }
    const rows = [
      { name: `start to the address, ${of} transitions`, ms: ready, worst: ready, limit: 2000 },
      { name: 'first draw, conversation filled in', ms: median(draws), worst: Math.max(...draws), limit: 1000 },
    ]
    await page.evaluate(timeKeys, ['Home'])
    rows.push(await timed('one step by key, from the start', Array(TIMES).fill('ArrowRight')))
    await page.evaluate(timeKeys, ['End'])
    rows.push(await timed('one step by key, back from the end', Array(TIMES).fill('ArrowLeft')))
    rows.push(
      await timed(
        'from one end to the other',
        Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? 'Home' : 'End')),
        200,
      ),
    )
    for (const [key, name] of [
      ['2', 'request'],
      ['3', 'changes'],
      ['4', 'record'],
      ['5', 'cost'],
    ]) {
      await page.keyboard.press(key)
      await page.waitForTimeout(300)
      rows.push(await timed(`one step by key, ${name}`, Array(TIMES).fill('ArrowLeft')))
    }
    return rows
  } finally {
    await browser.close()
    child.kill('SIGTERM')
    await new Promise((resolve) => child.once('exit', resolve))
  }
}

/** In the page: milliseconds since it was asked for until its rows and last messages are drawn. */
function whenDrawn() {
  return new Promise((resolve) => {
    const look = () => {
      const isThere =
        document.querySelector('.row.selected') !== null &&
        document.querySelector('.message:last-child.filled') !== null
      if (isThere) setTimeout(() => resolve(performance.now()))
      else requestAnimationFrame(look)
    }
    look()
  })
}

/** In the page: for each key, milliseconds until the step it leads to is drawn, position and detail. */
async function timeKeys(keys) {
  const times = []
  for (const key of keys) {
    const detail = document.querySelector('#detail')
    const before = detail.dataset.n
    const began = performance.now()
    dispatchEvent(new KeyboardEvent('keydown', { key }))
    await new Promise((resolve) => {
      const look = () => {
        const at = document.querySelector('#position').textContent.split(' ')[0]
        const isThere = at === detail.dataset.n && (at !== before || performance.now() - began > 1000)
        if (isThere) setTimeout(resolve)
        else requestAnimationFrame(look)
      }
      requestAnimationFrame(look)
    })
    times.push(performance.now() - began)
  }
  return times
}

function findBrowser() {
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
  const found = (process.env.PATH ?? '')
    .split(delimiter)
    .flatMap((place) => names.map((name) => join(place, name)))
    .find((path) => existsSync(path))
  if (found === undefined) throw new Error('This bench needs Chromium: apt-get install chromium.')
  return found
}

function print(rows) {
  console.log(`${''.padEnd(42)}  median     95 %    limit`)
  for (const { name, ms, worst, limit } of rows) {
    const cell = (value) => `${value.toFixed(0)} ms`.padStart(8)
    console.log(`${name.padEnd(42)} ${cell(ms)} ${cell(worst)} ${cell(limit)}  ${ms > limit ? 'OVER' : 'ok'}`)
  }
}
