/** The inspector's page in a real browser (contract.md, section 10). */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { IndexJson } from '../../src/services/inspect/wire.ts'
import { setUp } from '../cli/setUp.ts'
import { type CapturedRequest, call, held, reply, thinking } from '../support/fakeModel.ts'
import { startInspect } from '../support/inspect.ts'
import { useBrowser, type View } from './browser.ts'

const browser = useBrowser()

const TASKS = ['Count the cats.', 'Count the dogs.']

function answer({ body }: CapturedRequest) {
  const first = String(body.messages[0]?.content[0]?.text)
  const at = body.messages.length
  if (TASKS.includes(first)) return at === 1 ? reply([call('bash', { command: 'echo 3' })]) : reply('Three of them.')
  if (at === 1)
    return reply([
      thinking('Hm.'),
      'I look around.',
      call('bash', { command: 'echo one' }),
      call('glob', { pattern: '*' }),
    ])
  if (at === 3) return reply(TASKS.map((description) => call('task', { description })))
  if (at === 5) return reply([call('bash', { command: 'exit 3' })])
  return reply('All counted.')
}

async function recorded(replies: Parameters<typeof setUp>[0] = answer, prompt = 'Count everything.') {
  const it = await setUp(replies)
  const { stdout } = await it.run(['--yes', '--model', 'claude-sonnet-5-5', '-p', prompt])
  const { session_id } = JSON.parse(stdout) as { session_id: string }
  return { ...it, id: session_id }
}

async function looking(view?: View, prompt?: string, replies?: Parameters<typeof setUp>[0]) {
  const it = await recorded(replies, prompt)
  const server = await startInspect([it.id], { home: it.home })
  const looked = await browser.open(server.address, view)
  await shown(looked.page)
  return { ...it, server, ...looked }
}

/** Once the session is there. */
async function shown(page: Page): Promise<void> {
  await page.waitForFunction(() => /^\d+ \/ \d+$/.test(document.querySelector('#position')?.textContent ?? ''))
}

/** The step that is shown, once the detail is of it. */
async function settled(page: Page, n: number): Promise<void> {
  await page.waitForFunction((wanted) => {
    const position = document.querySelector('#position')?.textContent ?? ''
    const detail = document.querySelector<HTMLElement>('#detail')
    return position.startsWith(`${wanted} /`) && detail?.dataset.n === String(wanted)
  }, n)
}

const text = (page: Page, selector: string) => page.locator(selector).textContent()

test('it opens at the end of the session, says nothing on the console and asks nobody else', async () => {
  const { page, complaints, asked, server, id, dir } = await looking()
  expect(await text(page, '#title h1')).toBe('Count everything.')
  expect(await text(page, '#title p')).toBe(`${id.slice(0, 8)} · claude-sonnet-5-5 · ${dir}`)
  expect(await text(page, '#totals .state')).toBe('done')
  expect(await page.locator('#chart .node.here').getAttribute('id')).toBe('state-done')
  await page.waitForSelector('.message.assistant.filled >> text=All counted.')
  for (const tab of ['request', 'changes', 'record', 'cost', 'conversation']) {
    await page.click(`#tabs .to-${tab}`)
    await page.waitForFunction(
      (name) => document.querySelector(`#tabs .to-${name}`)?.getAttribute('aria-selected') === 'true',
      tab,
    )
  }
  expect(complaints).toEqual([])
  expect(asked.filter((url) => !url.startsWith(new URL('/', server.address).href) && !url.startsWith('data:'))).toEqual(
    [],
  )
})

test('the request at each model call is the one that the model got', async () => {
  const { page, model, server } = await looking()
  const { rows } = await server.get<IndexJson>('/api/index')
  const replies = rows.filter(({ record }) => record === 'reply').map(({ n }) => n)
  await page.click('#tabs .to-request')
  await page.keyboard.press('Home')
  const own = model.requests.filter(({ body }) => !TASKS.includes(String(body.messages[0]?.content[0]?.text)))
  for (const [i, { body }] of own.entries()) {
    await page.keyboard.press(']')
    await settled(page, replies[i] ?? 0)
    await page.click('text=Show as JSON')
    await page.waitForFunction(() => document.querySelector('.raw')?.textContent !== '')
    expect(JSON.parse((await text(page, '.raw')) ?? '')).toEqual(body)
    expect(await page.locator('#detail .message').count()).toBe(body.messages.length)
  }
})

test('scrubbing over the strip moves the steps, the chart and the conversation', async () => {
  const { page } = await looking()
  const of = Number((await page.locator('#position').textContent())?.split('/')[1])
  const box = await page.locator('#scrub').boundingBox()
  if (box === null) throw new Error('the strip is not there')
  await page.mouse.move(box.x + 2, box.y + 20)
  await page.mouse.down()
  await settled(page, 1)
  expect(await page.locator('#chart .node.here').getAttribute('id')).toBe('state-persisting')
  await page.mouse.move(box.x + (box.width * 4.5) / of, box.y + 20, { steps: 4 })
  await page.mouse.up()
  await settled(page, 5)
  expect(await text(page, '#here b')).toBe('calling → persisting')
  expect(await page.locator('#chart .edge.taken').getAttribute('id')).toBe('calling-persisting')
  await page.waitForSelector('.message.fresh >> text=I look around.')
  expect(await page.locator('#scrub').getAttribute('aria-valuenow')).toBe('5')
})

test('it is worked by keyboard', async () => {
  const { page, complaints } = await looking()
  const of = Number((await page.locator('#position').textContent())?.split('/')[1])
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key)
  }
  await press('Home')
  await settled(page, 0)
  await press('ArrowRight', 'ArrowRight', 'ArrowLeft')
  await settled(page, 1)
  await press('Shift+ArrowRight')
  await settled(page, 11)
  await press('End')
  await settled(page, of)
  await press('g')
  await page.keyboard.type('7')
  await press('Enter')
  await settled(page, 7)
  await press('g', 'Escape')
  await settled(page, 7)
  await press('[')
  await settled(page, 5)
  await press('m', 'ArrowRight', 'ArrowRight', '3')
  await settled(page, 7)
  expect(await page.locator('.compare input').first().inputValue()).toBe('5')
  await press('?')
  expect(await page.locator('#help').isVisible()).toBe(true)
  await press('Escape')
  expect(await page.locator('#help').isVisible()).toBe(false)
  await press('c')
  expect(await page.locator('body').getAttribute('class')).toBe('large')
  await press('Escape')
  expect(await page.locator('body').getAttribute('class')).toBe('')
  await press('/')
  await page.keyboard.type('exit 3')
  await page.waitForSelector('.hit')
  await press('Enter')
  await press('Enter')
  await page.waitForSelector('.hit.selected >> text=exit 3')
  await press('Escape')
  await page.waitForSelector('#search', { state: 'hidden' })
  expect(complaints).toEqual([])
})

test('two steps are compared: messages, numbers, instructions', async () => {
  const { page } = await looking()
  await page.click('#tabs .to-changes')
  const [from, to] = [page.locator('.compare input').nth(0), page.locator('.compare input').nth(1)]
  await to.fill('11')
  await to.press('Enter')
  await settled(page, 11)
  await from.fill('4')
  await from.press('Enter')
  await page.waitForSelector('.fold >> text=2 messages new')
  await page.waitForSelector('.added .message.filled >> text=I look around.')
  const rows = await page.locator('.changed tbody tr').allInnerTexts()
  expect(rows.map((row) => row.split('\t').map((cell) => cell.trim()))).toEqual(
    expect.arrayContaining([
      ['state', 'calling', 'persisting'],
      ['model calls in the turn', '0', '1'],
      ['calls of the round', '0', '2'],
    ]),
  )
  expect(await page.locator('#mark').isVisible()).toBe(true)
  await page.click('text=Step by step')
  await page.waitForFunction(() => document.querySelector<HTMLInputElement>('.compare input')?.value === '10')
})

test('a change of the instructions is shown line by line', async () => {
  const it = await recorded(() => reply('Done.'))
  const { writeFileSync } = await import('node:fs')
  writeFileSync(`${it.dir}/AGENTS.md`, 'Be brief and kind.\n')
  await it.run(['-c', '-p', 'Again.'])
  const server = await startInspect([it.id], { home: it.home })
  const { page } = await browser.open(server.address)
  await shown(page)
  await page.click('#tabs .to-changes')
  const from = page.locator('.compare input').first()
  await from.fill('5')
  await from.press('Enter')
  await page.waitForSelector('.diff .added >> text=Be brief and kind.')
  expect(await page.locator('.diff .removed').count()).toBe(0)
})

test('it follows a session that runs, and stays where a person has gone', async () => {
  const late = [held(reply([call('bash', { command: 'echo two' })])), held('Done at last.')]
  const { home, dir, model, run } = await setUp([reply([call('bash', { command: 'echo one' })]), ...late])
  const running = run(['--yes', '-p', 'Begin.'])
  await model.waitForRequest(1)
  const server = await startInspect([], { home, cwd: dir })
  const { page, complaints } = await browser.open(server.address)
  await page.waitForSelector('#follow.live')
  expect(await page.locator('#chart .node.here').getAttribute('id')).toBe('state-calling')
  const before = await page.locator('#position').textContent()
  late[0]?.release()
  await model.waitForRequest(2)
  await page.waitForFunction((was) => document.querySelector('#position')?.textContent !== was, before)
  await page.waitForSelector('.message >> text=echo two')
  await page.keyboard.press('Home')
  await settled(page, 0)
  late[1]?.release()
  await running
  await page.waitForFunction(() => document.querySelector('#totals .state')?.textContent === 'done')
  expect(await page.locator('#follow').getAttribute('aria-pressed')).toBe('false')
  expect(await page.locator('#position').textContent()).toMatch(/^0 \/ /)
  await page.keyboard.press('f')
  await page.waitForSelector('.message.assistant >> text=Done at last.')
  expect(complaints).toEqual([])
})

test('subagents are lanes that lead to their own steps and back', async () => {
  const { page } = await looking()
  expect(await page.locator('.lane .name').allInnerTexts()).toEqual(expect.arrayContaining(['main', ...TASKS]))
  await page.click('.lane >> text=Count the dogs.')
  await page.waitForFunction(() => document.querySelector('#title h1')?.textContent === 'Subagent: Count the dogs.')
  await page.waitForSelector('.message.assistant >> text=Three of them.')
  await page.keyboard.press('u')
  await page.waitForFunction(() => document.querySelector('#title h1')?.textContent === 'Count everything.')
  expect(await text(page, '#rows .row.selected .about')).toBe('task Count the dogs.')
})

test('content is hidden on demand and comes back', async () => {
  const { page } = await looking()
  await page.click('#veil')
  await page.waitForFunction(() => /^[•\s]+$/.test(document.querySelector('#title h1')?.textContent ?? 'x'))
  await page.waitForFunction(
    () =>
      !/counted|everything|cats/i.test(
        [...document.querySelectorAll('#top, #lanes, main')].map((one) => one.textContent).join(' '),
      ),
  )
  expect(await page.locator('#veil').getAttribute('aria-pressed')).toBe('true')
  await page.click('#veil')
  await page.waitForSelector('.message.assistant >> text=All counted.')
})

test('what stands in a session is text and never markup', async () => {
  const markup = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>'
  const { page, complaints } = await looking({}, markup, [
    reply([markup, call('bash', { command: `echo '${markup}'` })]),
    reply(markup),
  ])
  for (const key of ['2', '3', '4', '5', '1']) await page.keyboard.press(key)
  await page.waitForSelector('.message.assistant')
  expect(await page.locator('.message.user pre').first().textContent()).toBe(markup)
  expect(await page.title()).toBe(`${markup.slice(0, 60)} · agent inspect`)
  expect(await page.locator('#detail img, #detail script, #title img').count()).toBe(0)
  expect(complaints).toEqual([])
})

test('a wrong token and a foreign host see nothing', async () => {
  const { server } = await looking()
  const wrong = await browser.open(server.address.replace(/token=.*/, 'token=wrong'))
  expect({ status: wrong.status, body: (await text(wrong.page, 'body'))?.trim() }).toEqual({
    status: 403,
    body: 'The token is missing or wrong: open the address that agent inspect printed.',
  })
  const foreign = await browser.open(server.address.replace('127.0.0.1', 'evil.example'))
  expect({ status: foreign.status, body: (await text(foreign.page, 'body'))?.trim() }).toEqual({
    status: 403,
    body: 'This host is not served here.',
  })
})

test('a reload comes back to the same step and tab', async () => {
  const { page } = await looking()
  await page.keyboard.press('g')
  await page.keyboard.type('7')
  await page.keyboard.press('Enter')
  await settled(page, 7)
  await page.keyboard.press('4')
  await page.waitForFunction(() => location.hash === '#n=7&tab=record')
  await page.reload()
  await shown(page)
  await settled(page, 7)
  expect(await page.locator('#tabs .to-record').getAttribute('aria-selected')).toBe('true')
})

test.each([
  { width: 1280, scheme: 'light' },
  { width: 1280, scheme: 'dark' },
  { width: 390, scheme: 'light' },
  { width: 390, scheme: 'dark' },
] as const)('at $width pixels, $scheme, everything is within reach and readable', async ({ width, scheme }) => {
  const { page, complaints } = await looking({ width, height: width === 390 ? 844 : 800, scheme })
  for (const tab of width === 390
    ? ['chart', 'steps', 'conversation', 'request', 'changes', 'record', 'cost']
    : ['conversation', 'request', 'changes', 'record', 'cost']) {
    await page.click(`#tabs .to-${tab}`)
    await page.waitForFunction((name) => document.body.dataset.tab === name, tab)
    const view = await page.evaluate(() => ({
      wide: document.documentElement.scrollWidth,
      high: document.documentElement.scrollHeight,
    }))
    expect({ tab, ...view }).toEqual({ tab, wide: width, high: width === 390 ? 844 : 800 })
    expect({ tab, pale: await page.evaluate(palePlaces) }).toEqual({ tab, pale: [] })
  }
  expect(complaints).toEqual([])
})

/** Runs in the page: visible texts whose contrast to what is behind them is below 4.5 : 1 (WCAG 2, AA). */
function palePlaces(): string[] {
  const canvas = document
    .createElement('canvas')
    .getContext('2d', { willReadFrequently: true }) as CanvasRenderingContext2D
  const rgba = (color: string): number[] => {
    canvas.clearRect(0, 0, 1, 1)
    canvas.fillStyle = color
    canvas.fillRect(0, 0, 1, 1)
    return [...canvas.getImageData(0, 0, 1, 1).data]
  }
  const light = ([r = 0, g = 0, b = 0]: number[]): number => {
    const part = (value: number): number => (value <= 10 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4)
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b)
  }
  const behind = (element: Element | null): number[] => {
    for (let at = element; at !== null; at = at.parentElement) {
      const color = rgba(getComputedStyle(at).backgroundColor)
      if ((color[3] ?? 0) > 200) return color
    }
    return rgba(getComputedStyle(document.body).backgroundColor)
  }
  const pale: string[] = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement
    if (
      element === null ||
      (node.textContent ?? '').trim() === '' ||
      element.closest('svg, .later, script, style') !== null
    )
      continue
    if (!element.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true })) continue
    const [a, b] = [light(rgba(getComputedStyle(element).color)), light(behind(element))]
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
    if (contrast < 4.5)
      pale.push(
        `${element.className || element.tagName}: ${node.textContent?.trim().slice(0, 30)} (${contrast.toFixed(1)})`,
      )
  }
  return pale
}

test('of a long session only what is in sight is in the document', async () => {
  let n = 0
  const { page, complaints } = await looking({}, 'Go on and on.', () =>
    n++ < 120 ? reply([call('bash', { command: `echo ${n}` })]) : reply('Enough.'),
  )
  const of = Number((await page.locator('#position').textContent())?.split('/')[1])
  expect(of).toBeGreaterThan(800)
  expect(await page.locator('#rows .row').count()).toBeLessThan(60)
  await page.keyboard.press('Home')
  await settled(page, 0)
  await page.waitForSelector('.row[data-n="1"]')
  expect(await page.locator('#rows .row').count()).toBeLessThan(60)
  await page.keyboard.press('End')
  await settled(page, of)
  await page.waitForSelector('.message.filled >> text=Enough.')
  expect(await page.locator('.message').count()).toBe(242)
  expect(await page.locator('.message.filled').count()).toBeLessThan(60)
  expect(complaints).toEqual([])
}, 120_000)
