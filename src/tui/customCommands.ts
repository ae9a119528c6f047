/** The user's own commands: Markdown files in `.agent/commands/` of the project and of the user's folder. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

export interface CustomCommand {
  name: string
  description: string
  body: string
}

const LARGEST = 256 * 1024

/** @returns the commands by name; the project's come before the user's of the same name */
export function findCustom(cwd: string, home: string): CustomCommand[] {
  const found = new Map<string, CustomCommand>()
  for (const directory of [join(cwd, '.agent', 'commands'), join(home, 'commands')]) {
    for (const command of commandsIn(directory)) if (!found.has(command.name)) found.set(command.name, command)
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

function commandsIn(directory: string): CustomCommand[] {
  let names: string[]
  try {
    names = readdirSync(directory)
  } catch {
    return []
  }
  return names.flatMap((file) => {
    const name = /^([\w-]+)\.md$/.exec(file)?.[1]
    if (name === undefined) return []
    try {
      const path = join(directory, file)
      if (!statSync(path).isFile() || statSync(path).size > LARGEST) return []
      return [parse(name, readFileSync(path, 'utf8'))]
    } catch {
      return []
    }
  })
}

/** The text without its frontmatter; `description:` there says what the list shows, else the first line does. */
function parse(name: string, text: string): CustomCommand {
  const whole = text.replace(/^\ufeff/, '').replace(/\r\n?/g, '\n')
  const [matter = '', head = ''] = /^---\n([\s\S]*?)\n---(?:\n|$)/.exec(whole) ?? []
  const body = whole.slice(matter.length).trim()
  const described = /^description:\s*["']?(.*?)["']?\s*$/m.exec(head)?.[1]
  const first = body.split('\n').find((line) => line.trim() !== '') ?? ''
  return { name, description: described ?? first.replace(/^#+\s*/, '').slice(0, 200), body }
}

/** @returns the prompt; arguments go where `$ARGUMENTS` stands, or to the end where it stands nowhere */
export function promptOf({ body }: CustomCommand, args: string): string {
  if (body.includes('$ARGUMENTS')) return body.replaceAll('$ARGUMENTS', () => args)
  return args === '' ? body : `${body}\n\n${args}`
}
