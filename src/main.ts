/** The bundle's entry: runs the command line and ends the process when all is written. */
import { main } from './cli.ts'

main(process.argv.slice(2)).then(
  // Explicit: keep-alive sockets and inherited pipes would hold the process.
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(
      `agent: internal error: ${error instanceof Error ? error.message : String(error)}. Please report it.\n`,
    )
    if (process.argv.includes('--debug') && error instanceof Error) process.stderr.write(`${error.stack}\n`)
    process.exit(1)
  },
)
