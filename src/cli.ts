/** The command line: from the arguments to the one thing that is asked for. No logic of its own. */
import { type Asked, parseArgs } from './cli/args.ts'
import { helpText } from './cli/flags.ts'
import type { CommonOptions } from './run/request.ts'
import { catchSignals } from './run/signals.ts'

/** @returns the exit code (contract.md, 2) */
export async function main(argv: string[]): Promise<number> {
  const asked = parseArgs(argv)
  switch (asked.kind) {
    case 'help':
      return print(helpText())
    case 'version':
      return print(__VERSION__)
    case 'usage':
      return (await import('./cli/refusal.ts')).refuseUsage(argv, asked.message)
    case 'run':
    case 'forkRun':
      return run(asked)
    case 'command': {
      const { runCommand } = await import('./commands/index.ts')
      return runCommand(asked)
    }
  }
}

async function run(asked: Extract<Asked, { kind: 'run' | 'forkRun' }>): Promise<number> {
  // Asked last: Node makes a stream of stdin when it is named, which costs every start 2 ms.
  const atTerminal = (): boolean => process.stdin.isTTY === true && process.stdout.isTTY === true
  const { prompt, carriesOn = false } = asked.run
  const isConversation = prompt.kind === 'none' && !carriesOn && !namesJson(asked.common) && atTerminal()
  const stopping = catchSignals()
  if (isConversation) {
    const { converse } = await import('./run/desk.ts')
    return converse(asked.common, asked.run, stopping)
  }
  const { runPrompt } = await import('./run/run.ts')
  return (await runPrompt(asked.common, asked.run, { stopping })).code
}

/** Who asks for JSON wants no conversation, wherever it goes. */
function namesJson({ format }: CommonOptions): boolean {
  return format !== null && format !== 'text'
}

/** A reader that has seen enough, as `head` has, is no failure; a full disk is. */
function print(text: string): Promise<number> {
  return new Promise((resolve) => {
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') process.stderr.write(`agent: stdout cannot be written (${error.message}).\n`)
      resolve(error.code === 'EPIPE' ? 0 : 1)
    })
    process.stdout.write(`${text}\n`, (error) => {
      if (!error) resolve(0)
    })
  })
}
