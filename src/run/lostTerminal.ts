/** The end of a process whose terminal is gone. */
import { closeSync, fstatSync } from 'node:fs'
import { isatty } from 'node:tty'

/**
 * At its end Node puts the terminal back as it was, and aborts where that fails (`ResetStdio` in src/node.cc): a
 * window that was closed would end every run in a crash, with a core file where those are kept, whatever exit code it
 * has. A descriptor that is closed is left alone. What is closed here is a terminal no more, or never was one
 * (/dev/null); nothing is written after it.
 */
export function endWithoutTerminal(): void {
  process.on('exit', () => {
    for (const fd of [0, 1, 2]) {
      try {
        if (fstatSync(fd).isCharacterDevice() && !isatty(fd)) closeSync(fd)
      } catch {
        // Closed already.
      }
    }
  })
}
