/** The tool `glob`: files by the pattern of their path. */
import * as z from 'zod/mini'
import type { ToolResult } from '../ports.ts'
import { absolutePath, movedNow, pathField } from './files/paths.ts'
import { placesOf } from './search/pattern.ts'
import { kindOf } from './search/show.ts'
import { defineTool } from './tool.ts'

const DESCRIPTION = `Finds files by a pattern of their path, sorted by path.
- * ? [abc] {a,b} as in a shell, ** any number of directories: "src/**/*.{ts,tsx}". Without ** or / only one directory is looked into.
- Files ignored by .gitignore, .git and node_modules are left out, unless pattern or path leads into them; hidden files are found; symlinks are not followed.`

/**
 * ripgrep lists the files and this side matches them. Its own globs would override .gitignore, and a walk in
 * JavaScript (tinyglobby) takes many times as long, knows nothing of nested .gitignore files, and needs a way to
 * stop at symlink loops.
 */
export const globTool = defineTool({
  name: 'glob',
  description: DESCRIPTION,
  input: z.strictObject({
    pattern: z.string().check(z.minLength(1), z.describe('Relative to path; may also be absolute or begin with ../')),
    path: z.optional(pathField('Directory to look in; the working directory by default')),
  }),
  effect({ pattern, path }, cwd) {
    const from = absolutePath(path ?? '.', cwd)
    const places = placesOf(pattern, from)
    // A pattern that is wrong is answered without a look at any file.
    return { kind: 'read', paths: places.ok ? [...new Set(places.value.map(({ directory }) => directory))] : [from] }
  },
  async run({ pattern, path }, env): Promise<ToolResult> {
    const from = absolutePath(path ?? '.', env.cwd)
    const trouble = troubleWith(from, path)
    if (trouble !== null) return { kind: 'error', content: trouble }
    const places = placesOf(pattern, from)
    if (!places.ok) return { kind: 'error', content: places.message }
    const moved = places.value.map(({ directory }) => movedNow(directory, env.approved)).find((why) => why !== null)
    if (moved) return { kind: 'error', content: `Nothing was searched because ${moved}. Search again.` }
    const { findFiles } = await import('./search/files.ts')
    return findFiles({ pattern, from, places: places.value }, env)
  },
})

function troubleWith(from: string, path: string | undefined): string | null {
  switch (kindOf(from)) {
    case 'directory':
      return null
    case 'missing':
      return `There is no directory ${path ?? from}. Give path as a directory that exists, or leave it out.`
    case 'file':
    case 'other':
      return `${path} is not a directory. Give the directory as path, or use read_file for one file.`
  }
}
