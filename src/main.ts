/** The bundle's entry: runs the command line and ends the process when all is written. */
import { main } from './cli.ts'
import { messageOf } from './machines/errorText.ts'
import { endWithoutTerminal } from './run/lostTerminal.ts'
import { printable } from './services/text.ts'

// An empty HOME is none. Node would take the working directory for it, and a project's .agent for the user's.
if (process.env.HOME === '') delete process.env.HOME

endWithoutTerminal()
main(process.argv.slice(2)).then(
  // Explicit: keep-alive sockets and inherited pipes would hold the process.
  (code) => process.exit(code),
  (error: unknown) => {
    // What a run or a command cannot go on without; not a bug.
    if (error instanceof Error && error.name === 'StoreError') {
      process.stderr.write(`agent: ${printable(error.message)}\n`)
      process.exit(1)
    }
    process.stderr.write(`agent: internal error: ${printable(messageOf(error))}. Please report it.\n`)
    if (process.argv.includes('--debug') && error instanceof Error)
      process.stderr.write(`${printable(error.stack ?? '')}\n`)
    process.exit(1)
  },
)
