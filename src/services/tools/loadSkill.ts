/** The tool `load_skill`: the whole text of one of the skills in the catalog. */
import * as z from 'zod/mini'
import type { SkillsPort } from '../ports.ts'
import { defineTool, type Tool } from './tool.ts'

const input = z.strictObject({
  name: z.string().check(z.describe('As listed in the skills catalog')),
})

/** @returns the tool over a run's skills; it is offered while there are any. */
export function loadSkillTool(skills: SkillsPort): Tool<z.infer<typeof input>> {
  return defineTool({
    name: 'load_skill',
    description:
      'Load a skill from the catalog: its full instructions, its directory and its other files. Do it before work ' +
      'that the skill describes, and follow what it says.',
    input,
    effect: () => ({ kind: 'none' }),
    isOffered: () => skills.any(),
    run: ({ name }) => skills.load(name),
  })
}
