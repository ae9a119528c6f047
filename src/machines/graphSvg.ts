/**
 * The picture of the statechart: Graphviz's SVG made fit for a page (colours of the reader's scheme, ids to mark
 * states and arrows by), and the marks of a session on it. Text in, text out; the layout is made when diagrams are
 * generated, so that nothing lays out at run time. Pure.
 */
import type { Graph, Visits } from './graph.ts'
import { anywhereLabel, arrowsOf } from './graphText.ts'

const STYLE = `<style>
svg { color: #1f2937; background: #ffffff; }
text { fill: currentColor; }
.node path, .edge path { stroke: currentColor; }
.edge polygon, .start ellipse { fill: currentColor; stroke: currentColor; }
.choice path { stroke-dasharray: 5 3; }
.visited { color: #1d4ed8; }
.visited path { stroke-width: 2.2; }
.unvisited { opacity: 0.4; }
.unvisited.edge text { opacity: 0.8; }
@media (prefers-color-scheme: dark) {
  svg { color: #e5e7eb; background: #111827; }
  .visited { color: #93c5fd; }
}
</style>`

/** @param svg what Graphviz made of `toDot(graph)` */
export function styledSvg(svg: string): string {
  const begun = svg.slice(svg.indexOf('<svg'))
  return begun
    .replaceAll('&#45;', '-')
    .replace(/<!--[\s\S]*?-->\n/g, '')
    .replace(/ (?:xmlns:xlink|xml:space)="[^"]*"/g, '')
    .replace(/(<svg width=")(\d+)pt(" height=")(\d+)pt(")\n/, '$1$2$3$4$5')
    .replace(/<svg [^>]*>\n/, (tag) => `${tag}${STYLE}\n`)
    .replace(/ stroke="black"| fill="black"/g, '')
    .replace(/text-anchor="middle" x="[\d.]+"/, 'text-anchor="start" x="8"')
}

/** @returns the picture with what the session visited marked and counted, the rest pale */
export function markedSvg(svg: string, graph: Graph, visits: Visits): string {
  const arrows = new Map(arrowsOf(graph).map((arrow) => [arrow.id, arrow]))
  const countsOf = (id: string): number[] | null => {
    if (id.startsWith('state-')) return [visits.states.get(id.slice('state-'.length)) ?? 0]
    return arrows.get(id)?.transitions.map((one) => visits.transitions.get(one.id) ?? 0) ?? null
  }
  return svg
    .replace(/<g id="([^"]+)" class="([^"]*)">([\s\S]*?)<\/g>/g, (whole, id: string, names: string, body: string) => {
      const counts = countsOf(id)
      if (counts === null) return whole
      const mark = counts.some((count) => count > 0) ? 'visited' : 'unvisited'
      // A state has one count, behind its last line; the k-th text of an arrow is its k-th transition.
      const first = arrows.has(id) ? 0 : body.split('</text>').length - 2
      return `<g id="${id}" class="${names} ${mark}">${withCounts(body, counts, first)}</g>`
    })
    .replace(anywhereLabel(graph), anywhereLabel(graph, visits))
}

/** @param first the text that the first count belongs to */
function withCounts(body: string, counts: number[], first: number): string {
  let at = -first
  return body.replace(/<\/text>/g, (end) => {
    const count = counts[at++] ?? 0
    return count > 0 ? ` ×${count}${end}` : end
  })
}
