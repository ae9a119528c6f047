/** The page as one file, and the policy that lets nothing else run or load. */
import { createHash } from 'node:crypto'

export interface PageSource {
  /** With the places `<!-- style -->`, `<!-- chart -->` and `<!-- script -->`. */
  html: string
  css: string
  js: string
  /** The statechart as SVG. */
  chart: string
}

export interface Page {
  html: string
  /** For the header Content-Security-Policy. */
  policy: string
}

export function assemblePage({ html, css, js, chart }: PageSource): Page {
  const parts: Record<string, string> = {
    style: `<style>${css}</style>`,
    script: `<script>${js}</script>`,
    chart: bareChart(chart),
  }
  return {
    html: html.replace(/<!-- (style|chart|script) -->/g, (_, name: string) => parts[name] ?? ''),
    policy: [
      "default-src 'none'",
      `script-src ${hashOf(js)}`,
      `style-src ${hashOf(css)}`,
      "connect-src 'self'",
      // Pictures of the conversation are in its text.
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ].join('; '),
  }
}

/** The picture takes its size and its colours from the page. */
function bareChart(svg: string): string {
  return svg
    .replace(/<style>[\s\S]*?<\/style>\n?/, '')
    .replace(/<svg width="\d+" height="\d+"/, '<svg id="chart" role="img" aria-label="The statechart"')
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}
