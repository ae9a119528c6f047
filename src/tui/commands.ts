/** Commands of the conversation: `/help` and the others, and the user's own in Markdown files. */
import { COMMANDS } from './commandTable.ts'
import type { Candidate } from './completion.ts'
import { type CustomCommand, findCustom, promptOf } from './customCommands.ts'
import type { Hands } from './hands.ts'

export interface Commands {
  candidates(): Candidate[]
  /** Runs what `isCommand` says is one. */
  run(text: string): Promise<void>
}

/** The files are read again when a command is typed, but not for each of its letters. */
const FRESH_MS = 2_000

const COMMAND = /^\/([\w:?-]+)(?:\s+([\s\S]*))?$/

/** @returns whether it is a command, known or not; `/etc/hosts`, `/.env` and `/ so` are the beginnings of prompts */
export function isCommand(text: string): boolean {
  return text.startsWith('/') && COMMAND.test(text.trim())
}

/** @param cwd the project, whose `.agent/commands/` is looked at; `home` is the user's folder */
export function createCommands(hands: Hands, home: string, cwd: () => string): Commands {
  let known: { cwd: string; custom: CustomCommand[] } | null = null
  let readAt = 0
  const custom = (isFresh: boolean): CustomCommand[] => {
    if (known === null || known.cwd !== cwd() || isFresh) {
      known = { cwd: cwd(), custom: findCustom(cwd(), home) }
      readAt = performance.now()
    }
    return known.custom
  }
  return {
    candidates: () => [
      ...COMMANDS.map(({ name, about }) => ({ text: `/${name}`, about })),
      ...custom(performance.now() - readAt > FRESH_MS).map(({ name, description }) => ({
        text: `/${name}`,
        about: description,
      })),
    ],
    async run(text) {
      const [, name = '', args = ''] = COMMAND.exec(text.trim()) ?? []
      const own = custom(true).find((command) => command.name === name)
      const builtIn = COMMANDS.find((command) => command.name === name || command.also?.includes(name))
      if (builtIn !== undefined) await builtIn.run(hands, args.trim())
      else if (own !== undefined) {
        const prompt = promptOf(own, args.trim())
        if (prompt.trim() === '') hands.tell(`The file of /${name} has no text that could be sent.`)
        else hands.send(prompt)
      } else
        hands.tell(
          `There is no command /${name}. /help lists those there are; a space before the slash sends it as text.`,
        )
    },
  }
}
