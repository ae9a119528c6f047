/** Code in colours. Languages are known by their names and usual short names; others stay as they are. */
import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import c from 'highlight.js/lib/languages/c'
import cpp from 'highlight.js/lib/languages/cpp'
import csharp from 'highlight.js/lib/languages/csharp'
import css from 'highlight.js/lib/languages/css'
import diff from 'highlight.js/lib/languages/diff'
import go from 'highlight.js/lib/languages/go'
import java from 'highlight.js/lib/languages/java'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import kotlin from 'highlight.js/lib/languages/kotlin'
import lua from 'highlight.js/lib/languages/lua'
import makefile from 'highlight.js/lib/languages/makefile'
import php from 'highlight.js/lib/languages/php'
import python from 'highlight.js/lib/languages/python'
import ruby from 'highlight.js/lib/languages/ruby'
import rust from 'highlight.js/lib/languages/rust'
import scala from 'highlight.js/lib/languages/scala'
import sql from 'highlight.js/lib/languages/sql'
import swift from 'highlight.js/lib/languages/swift'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'
import type { Colors, Formatter } from 'picocolors/types.js'

const LANGUAGES = {
  bash,
  c,
  cpp,
  csharp,
  css,
  diff,
  go,
  java,
  javascript,
  json,
  kotlin,
  lua,
  makefile,
  php,
  python,
  ruby,
  rust,
  scala,
  sql,
  swift,
  typescript,
  xml,
  yaml,
}
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language)

/** Longer code stays plain: colouring takes time that grows with it. */
const LONGEST = 40_000

/** @returns the code's lines; colours do not reach over a line's end */
export function highlight(code: string, language: string, colors: Colors): string[] {
  const name =
    language
      .trim()
      .split(/[\s,{]/)[0]
      ?.toLowerCase() ?? ''
  if (!colors.isColorSupported || code.length > LONGEST || hljs.getLanguage(name) === undefined) return code.split('\n')
  return coloured(hljs.highlight(code, { language: name, ignoreIllegals: true }).value, colors)
}

const ENTITIES: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#x27;': "'" }

/** The highlighter's HTML has only spans with one class, and five entities. */
function coloured(html: string, colors: Colors): string[] {
  const open: Formatter[] = []
  const lines: string[] = ['']
  const add = (text: string): void => {
    text.split('\n').forEach((part, i) => {
      if (i > 0) lines.push('')
      if (part === '') return
      const painted = open.reduceRight((inner, paint) => paint(inner), part)
      lines[lines.length - 1] += painted
    })
  }
  for (const [part, scope] of html.matchAll(/<span class="([^"]*)">|<\/span>|[^<]+/g)) {
    if (scope !== undefined) open.push(paintOf(scope, colors))
    else if (part === '</span>') open.pop()
    else add(part.replace(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => ENTITIES[entity] ?? entity))
  }
  return lines
}

function paintOf(classes: string, colors: Colors): Formatter {
  const scope = /hljs-(\w+)/.exec(classes)?.[1] ?? ''
  switch (scope) {
    case 'keyword':
    case 'selector':
    case 'tag':
    case 'section':
      return colors.magenta
    case 'string':
    case 'regexp':
    case 'addition':
      return colors.green
    case 'number':
    case 'literal':
    case 'symbol':
    case 'bullet':
      return colors.yellow
    case 'comment':
    case 'quote':
    case 'meta':
      return colors.dim
    case 'deletion':
      return colors.red
    case 'title':
    case 'built_in':
    case 'name':
    case 'type':
    case 'class':
      return colors.cyan
    case 'attr':
    case 'attribute':
    case 'property':
      return colors.blue
    default:
      return (text) => String(text)
  }
}
