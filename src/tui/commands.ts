/** Commands of the conversation: `/help` and the others, and the user's own in Markdown files. */
import { COMMANDS } from './commandTable.ts'
import type { Candidate } from './completion.ts'
import { type CustomCommand, findCustom, promptOf } from './customCommands.ts'
import type { Hands } from './hands.ts'

export interface Commands {
  candidates(): Candidate[]
  /** Runs what begins with `/`. @returns false where the text is none of the commands: then it is a prompt */
  run(text: string): Promise<boolean>
}

/** @param cwd the project, whose `.agent/commands/` is looked at; `home` is the user's folder */
export function createCommands(hands: Hands, home: string, cwd: () => string): Commands {
  let known: { cwd: string; custom: CustomCommand[] } | null = null
  const custom = (isFresh: boolean): CustomCommand[] => {
    if (known === null || known.cwd !== cwd() || isFresh) known = { cwd: cwd(), custom: findCustom(cwd(), home) }
    return known.custom
  }
  return {
    candidates: () => [
      ...COMMANDS.map(({ name, about }) => ({ text: `/${name}`, about })),
      ...custom(false).map(({ name, description }) => ({ text: `/${name}`, about: description })),
    ],
    async run(text) {
      const [, name = '', args = ''] = /^\/([\w:-]+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? []
      if (name === '') return false
      const own = custom(true).find((command) => command.name === name)
      const builtIn = COMMANDS.find((command) => command.name === name || command.also?.includes(name))
      if (builtIn !== undefined) await builtIn.run(hands, args.trim())
      else if (own !== undefined) hands.send(promptOf(own, args.trim()))
      else
        hands.tell(
          `There is no command /${name}. /help lists those there are; a space before the slash sends it as text.`,
        )
      return true
    },
  }
}
