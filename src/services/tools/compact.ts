/** `compact`: the model's own wish to have the conversation summarised. */
import * as z from 'zod/mini'
import { defineTool } from './tool.ts'

/** Answered like any other call; the statechart knows it by its name and summarises once the whole batch has run. */
export const compactTool = defineTool({
  name: 'compact',
  description:
    'Have the conversation so far replaced by a summary, when much of it no longer matters. It happens after the other ' +
    'calls of this reply have run.',
  input: z.strictObject({
    focus: z.optional(z.string().check(z.describe('What the summary must keep in detail'))),
  }),
  effect: () => ({ kind: 'none' }),
  run: async () => ({ kind: 'ok', content: 'The conversation is summarised before your next reply.' }),
})
