/** A browser for the tests of the page: Debian's Chromium, or another that is there. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, onTestFinished } from 'vitest'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const PLACES = ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome']

/** It talks to nobody but the page: no updates, no sync, no first run. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // A name that leads here, as in DNS rebinding.
  '--host-resolver-rules=MAP evil.example 127.0.0.1',
]

function findBrowser(): string {
  const directories = (process.env.PATH ?? '').split(delimiter)
  const candidates = [...directories.flatMap((directory) => NAMES.map((name) => join(directory, name))), ...PLACES]
  const found = candidates.find((path) => existsSync(path))
  if (found === undefined) throw new Error('The tests of the page need Chromium: apt-get install chromium.')
  return found
}

/** One browser for a file of tests; call it at the top. */
export function useBrowser(): { open(address: string, view?: View): Promise<Looking> } {
  let context: BrowserContext
  const directory = mkdtempSync(join(tmpdir(), 'stepwright-page-'))
  beforeAll(async () => {
    context = await chromium.launchPersistentContext(directory, {
      executablePath: findBrowser(),
      headless: true,
      args: FLAGS,
    })
    // Less than a test may take: a page that is wrong says which step did not come.
    context.setDefaultTimeout(30_000)
  })
  afterAll(async () => {
    await context.close()
    rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
  })
  return { open: (address, view) => open(context, address, view) }
}

export interface View {
  width?: number
  height?: number
  scheme?: 'light' | 'dark'
}

export interface Looking {
  page: Page
  /** What the page said on the console or threw. */
  complaints: string[]
  /** Every address it asked for. */
  asked: string[]
  /** Status of the page itself. */
  status: number
}

async function open(context: BrowserContext, address: string, view: View = {}): Promise<Looking> {
  const page = await context.newPage()
  onTestFinished(() => page.close())
  const complaints: string[] = []
  const asked: string[] = []
  page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`))
  page.on('pageerror', (error) => complaints.push(`thrown: ${error.message}`))
  page.on('request', (request) => asked.push(request.url()))
  await page.emulateMedia({ colorScheme: view.scheme ?? 'light' })
  await page.setViewportSize({ width: view.width ?? 1280, height: view.height ?? 800 })
  const response = await page.goto(address)
  return { page, complaints, asked, status: response?.status() ?? 0 }
}
