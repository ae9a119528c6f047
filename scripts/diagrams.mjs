/**
 * Draws the statechart from the machine itself: diagrams/ for people, src/commands/chart.json for the bundle, which
 * shows the same picture without laying it out again. `npm run diagrams` writes them; a test compares.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { instance } from '@viz-js/viz'
import { build } from 'esbuild'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

const ENTRY = `
export { agentMachine } from './src/machines/agent.ts'
export { graphOf, toJson } from './src/machines/graph.ts'
export { styledSvg } from './src/machines/graphSvg.ts'
export { toDot, toMermaid } from './src/machines/graphText.ts'
`

/** @returns what each generated file must hold, by its path from the root */
export async function drawDiagrams() {
  const { agentMachine, graphOf, toJson, toDot, toMermaid, styledSvg } = await sources()
  const graph = graphOf(agentMachine)
  const dot = toDot(graph)
  const viz = await instance()
  const svg = styledSvg(viz.renderString(dot, { format: 'svg' }))
  return {
    'diagrams/agent.mmd': toMermaid(graph),
    'diagrams/agent.dot': dot,
    'diagrams/agent.svg': svg,
    'diagrams/agent.json': `${JSON.stringify(toJson(graph), null, 2)}\n`,
    'src/commands/chart.json': `${JSON.stringify({ svg }, null, 2)}\n`,
    'docs/statechart.md': withExcerpts(readFileSync(join(ROOT, 'docs/statechart.md'), 'utf8'), (state) =>
      toMermaid(excerptOf(graph, state)),
    ),
  }
}

/** The ways out of one state. */
function excerptOf(graph, state) {
  const transitions = graph.transitions.filter(({ from, scope }) => from === state && scope === 'state')
  if (transitions.length === 0) throw new Error(`docs/statechart.md shows ${state}, which has no way out`)
  return { ...graph, transitions, states: graph.states.filter(({ name }) => name === state) }
}

/** Puts each state's diagram between its marks. */
function withExcerpts(text, draw) {
  return text.replace(/(<!-- diagram: (\w+) -->\n)[\s\S]*?(<!-- \/diagram -->)/g, (_, begin, state, end) => {
    return `${begin}\n\`\`\`mermaid\n${draw(state)}\`\`\`\n\n${end}`
  })
}

/** The sources are TypeScript; this runs on Node as it is. */
async function sources() {
  const { outputFiles } = await build({
    stdin: { contents: ENTRY, resolveDir: ROOT, loader: 'ts' },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    logLevel: 'warning',
  })
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const [path, text] of Object.entries(await drawDiagrams())) {
    const file = join(ROOT, path)
    if (existsSync(file) && readFileSync(file, 'utf8') === text) continue
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    console.log(`wrote ${path}`)
  }
}
