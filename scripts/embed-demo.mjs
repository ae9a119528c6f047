/**
 * Makes demo/embedded.json, which `agent demo` carries in the bundle: the broken project's files and the model's
 * recorded replies. Generated, not in git; the sources are demo/project/ and demo/replies.jsonl.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'

/** Writes `{files: {<path with slashes>: <text>}, replies: <JSON lines>}` where it differs from what is there. */
export function embedDemo(root) {
  const project = join(root, 'demo/project')
  if (!existsSync(project)) return
  const paths = readdirSync(project, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort()
  const files = Object.fromEntries(
    paths.map((path) => [relative(project, path).split(sep).join('/'), readFileSync(path, 'utf8')]),
  )
  const replies = readFileSync(join(root, 'demo/replies.jsonl'), 'utf8')
  const text = `${JSON.stringify({ files, replies }, null, 2)}\n`
  const target = join(root, 'demo/embedded.json')
  if (!existsSync(target) || readFileSync(target, 'utf8') !== text) writeFileSync(target, text)
}
