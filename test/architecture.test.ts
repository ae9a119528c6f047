/** The import rules of biome.json hold, and a wrong import is reported. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const LONGEST_FILE = 250

/** Planted into a copy of the layout: file, import, and what is said of it ("" where it is right). */
const PLANTED: Array<[file: string, specifier: string, message: string]> = [
  ['src/machines/pure.ts', 'node:fs', 'src/machines is pure'],
  ['src/machines/clock.ts', '../services/ports.ts', 'src/machines is pure'],
  ['src/machines/fine.ts', './journal.ts', ''],
  ['src/machines/chart.ts', 'xstate', ''],
  ['src/services/store/a.ts', '../tools/registry.ts', 'A service folder imports itself'],
  ['src/services/store/b.ts', '../provide.ts', 'A service folder imports itself'],
  ['src/services/store/c.ts', '../../cli.ts', 'A service folder imports itself'],
  ['src/services/store/d.ts', '../ports.ts', ''],
  ['src/services/store/e.ts', '../../machines/journal.ts', ''],
  ['src/services/store/f.ts', 'keyv', ''],
  ['src/services/tools/g.ts', 'keyv', 'Only src/services/store'],
  ['src/services/tools/h.ts', 'xstate', 'The statechart is in src/machines'],
  ['src/services/tools/shell/i.ts', '../../store/index.ts', 'A service folder imports itself'],
  ['src/services/tools/shell/j.ts', '../../../run/run.ts', 'A service folder imports itself'],
  ['src/services/tools/shell/k.ts', '../tool.ts', ''],
  ['src/services/tools/shell/l.ts', '../../../machines/messages.ts', ''],
  ['src/services/tools/m.ts', '@anthropic-ai/sdk', 'Only src/services/model'],
  ['src/services/model/n.ts', '@anthropic-ai/sdk/client', ''],
  ['src/services/provide/o.ts', '../tools/registry.ts', ''],
  ['src/services/provide/p.ts', '@anthropic-ai/sdk', 'Only src/services/model'],
  ['src/services/provide/q.ts', '../../run/request.ts', 'src/run puts a run together'],
  ['src/services/q.ts', './store/index.ts', 'What all services share'],
  ['src/run/r.ts', '../services/store/index.ts', ''],
  ['src/run/s.ts', '../cli/args.ts', 'A run knows nothing of the command line'],
  ['src/run/t.ts', '../commands/request.ts', 'A run knows nothing of the command line'],
  ['src/run/u.ts', '../tui.ts', ''],
  ['src/run/v.ts', '@anthropic-ai/sdk', 'Only src/services/model'],
  ['src/cli/w.ts', '../run/request.ts', ''],
  ['src/cli/x.ts', '../commands/request.ts', ''],
  ['src/commands/s.ts', '@keyv/sqlite', 'Only src/services/store'],
  ['src/commands/t.ts', '../cli/args.ts', 'what they are asked is in commands/request.ts'],
  ['src/commands/u.ts', '../run/request.ts', ''],
  ['src/tui/y.ts', '../run/request.ts', ''],
  ['src/tui/z.ts', '../run/desk.ts', 'works with its desk'],
  ['src/tui/z1.ts', '../cli/flags.ts', 'works with its desk'],
]

const FORMS = [
  { form: 'import', code: (from: string) => `import * as it from '${from}'\nexport default it\n` },
  { form: 'import type', code: (from: string) => `export type { It } from '${from}'\n` },
  { form: 'lazy import', code: (from: string) => `export const it = () => import('${from}')\n` },
]

describe.each(FORMS)('a wrong $form', ({ code }) => {
  let directory: string
  let said: Map<string, string>

  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'stepwright-rules-'))
    const config = JSON.parse(readFileSync(join(ROOT, 'biome.json'), 'utf8')) as Record<string, unknown>
    const { vcs, ...rules } = config
    writeFileSync(join(directory, 'biome.json'), JSON.stringify(rules))
    for (const [file, specifier] of PLANTED) {
      mkdirSync(dirname(join(directory, file)), { recursive: true })
      writeFileSync(join(directory, file), code(specifier))
    }
    said = lint(directory)
  })
  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  test.each(PLANTED)('in %s: %s', (file, _, message) => {
    if (message === '') expect(said.get(file)).toBeUndefined()
    else expect(said.get(file)).toContain(message)
  })
})

/** @returns what noRestrictedImports says, by file */
function lint(directory: string): Map<string, string> {
  const { stdout } = spawnSync(
    process.execPath,
    [
      join(ROOT, 'node_modules/@biomejs/biome/bin/biome'),
      'lint',
      '--only=style/noRestrictedImports',
      '--reporter=json',
      '--max-diagnostics=none',
      'src',
    ],
    { cwd: directory, encoding: 'utf8' },
  )
  const report = JSON.parse(stdout) as {
    diagnostics: Array<{ category: string; location: { path: string | { file: string } }; message: unknown }>
  }
  return new Map(
    report.diagnostics
      .filter(({ category }) => category === 'lint/style/noRestrictedImports')
      .map(({ location, message }) => [
        typeof location.path === 'string' ? location.path : location.path.file,
        JSON.stringify(message),
      ]),
  )
}

test(`no source file is longer than ${LONGEST_FILE} lines`, () => {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.[cm]?tsx?$/.test(name),
  )
  expect(files.length).toBeGreaterThan(20)
  const lines = files.map((name) => ({
    name,
    lines: readFileSync(join(ROOT, 'src', name), 'utf8')
      .trimEnd()
      .split('\n').length,
  }))
  expect(lines.filter((file) => file.lines > LONGEST_FILE)).toEqual([])
})

/** Imports, exports from elsewhere and lazy imports of files beside; those of types too: who reads one reads the others. */
const RELATIVE_IMPORT = /\b(?:from|import)\s*\(?\s*['"](\.[^'"]+\.ts)['"]/g

/** @returns for each file below the directory what it imports, all by their path there */
function importsBelow(directory: string): Map<string, string[]> {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  return new Map(
    files.map((file) => {
      const text = readFileSync(join(directory, file), 'utf8')
      return [file, [...text.matchAll(RELATIVE_IMPORT)].map(([, from = '']) => join(dirname(file), from))]
    }),
  )
}

/** @returns circles of files, each begun anywhere; none exactly where there is no circle */
function circlesIn(imports: Map<string, string[]>): string[][] {
  const done = new Set<string>()
  const circles: string[][] = []
  const visit = (file: string, path: string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file])
    if (done.has(file) || path.includes(file)) return
    for (const next of imports.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of imports.keys()) visit(file, [])
  return circles
}

describe('imports that go in a circle, be it for a type', () => {
  test('are in no source file', () => {
    const imports = importsBelow(join(ROOT, 'src'))
    expect([...imports.values()].flat().length).toBeGreaterThan(500)
    expect(circlesIn(imports)).toEqual([])
  })

  test.each(FORMS)('are found: $form', ({ code }) => {
    const directory = mkdtempSync(join(tmpdir(), 'stepwright-circle-'))
    mkdirSync(join(directory, 'b'))
    writeFileSync(join(directory, 'a.ts'), code('./b/b.ts'))
    writeFileSync(join(directory, 'b/b.ts'), code('../c.ts'))
    writeFileSync(join(directory, 'c.ts'), code('./a.ts'))
    writeFileSync(join(directory, 'd.ts'), code('./c.ts'))
    const circles = circlesIn(importsBelow(directory))
    rmSync(directory, { recursive: true })
    expect(circles.map((circle) => circle.slice(1).sort())).toEqual([['a.ts', 'b/b.ts', 'c.ts']])
  })
})
