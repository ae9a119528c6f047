/** The commands beside the run of a prompt; each is loaded when it is asked for. */
import { agentHome, workingDirectory } from '../run/directory.ts'
import { printable } from '../services/text.ts'
import type { CommandRequest } from './request.ts'

/** @returns the exit code */
export async function runCommand(command: CommandRequest): Promise<number> {
  const place = await workingDirectory(command.common.cwd)
  if (!place.ok) return refuse(place.message)
  const home = agentHome(process.env)
  const cwd = place.value
  const [extra] = command.input
  if ((command.name === 'config' || command.name === 'demo') && extra !== undefined)
    return refuse(`Unexpected argument ${JSON.stringify(extra)}: agent ${command.name} takes none.`)
  switch (command.name) {
    case 'sessions': {
      const { runSessions } = await import('./runSessions.ts')
      return runSessions(command, cwd)
    }
    case 'config': {
      const { configCommand } = await import('./config.ts')
      return configCommand({ json: command.common.format === 'json', settings: command.common.settings }, { home, cwd })
    }
    case 'trust': {
      const { trustCommand } = await import('./trust.ts')
      const { common, input, flags } = command
      const { list, remove } = flags
      return trustCommand({ json: common.format === 'json', input, list, remove }, { home, cwd })
    }
    case 'skills': {
      const { skillsCommand } = await import('./skills.ts')
      return skillsCommand({ json: command.common.format === 'json', input: command.input }, { home, cwd })
    }
    case 'memory': {
      const { memoryCommand } = await import('./memory.ts')
      const { common, input } = command
      return memoryCommand({ json: common.format === 'json', input, settings: common.settings }, { home, cwd })
    }
    case 'graph':
    case 'trace':
    case 'replay':
    case 'fork':
    case 'inspect': {
      const { runLooking } = await import('./runLooking.ts')
      return runLooking(command, cwd)
    }
    case 'demo': {
      const { demo } = await import('./demo.ts')
      return demo(command.common)
    }
    default:
      throw new Error(`no command ${command.name}`)
  }
}

function refuse(message: string): number {
  process.stderr.write(`agent: ${printable(message)}\n`)
  return 2
}
