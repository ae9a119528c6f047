/** The tool `grep`: lines of files by a regular expression. */
import * as z from 'zod/mini'
import type { ToolEnv, ToolResult } from '../ports.ts'
import { absolutePath, movedNow, pathField } from './files/paths.ts'
import { parseFilter } from './search/filter.ts'
import { kindOf } from './search/show.ts'
import { defineTool } from './tool.ts'

/** Below what a system takes as one argument. */
const LONGEST_PATTERN = 20_000

const DESCRIPTION = `Searches files for a regular expression with ripgrep and returns path:line:text, sorted by path.
- Put a backslash before ( ) [ ] { } . * + ? | ^ $ that mean themselves; "(?i)" at the start ignores case; a pattern with \\n matches over lines.
- Files ignored by .gitignore, .git, node_modules and binary files are left out, unless path leads into them; hidden files are searched.`

export const grepTool = defineTool({
  name: 'grep',
  description: DESCRIPTION,
  input: z.strictObject({
    pattern: z.string().check(
      z.minLength(1),
      z.maxLength(LONGEST_PATTERN),
      z.refine((pattern) => !pattern.includes('\0'), 'must not contain a NUL character; write \\x00'),
      z.describe('Regular expression'),
    ),
    path: z.optional(pathField('File or directory to search; the working directory by default')),
    glob: z.optional(
      z
        .string()
        .check(
          z.minLength(1),
          z.describe('Only files that match: *.ts (at any depth), src/**/*.{ts,tsx}; ! before it: only others'),
        ),
    ),
  }),
  effect: ({ path }, cwd) => ({ kind: 'read', paths: [absolutePath(path ?? '.', cwd)] }),
  async run({ pattern, path, glob }, env: ToolEnv): Promise<ToolResult> {
    const place = absolutePath(path ?? '.', env.cwd)
    const kind = kindOf(place)
    if (kind === 'missing')
      return { kind: 'error', content: `There is no file or directory ${path ?? place}. Give a path that exists.` }
    if (kind === 'other')
      return { kind: 'error', content: `${path} is neither a file nor a directory. Give a path that is one.` }
    const moved = movedNow(place, env.approved)
    if (moved !== null) return { kind: 'error', content: `Nothing was searched because ${moved}. Search again.` }
    const filter = parseFilter(glob)
    if (!filter.ok) return { kind: 'error', content: filter.message }
    const { findLines } = await import('./search/lines.ts')
    return findLines({ pattern, place, kind, filter: filter.value, glob }, env)
  },
})
