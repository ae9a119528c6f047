/** SIGINT, SIGTERM and SIGHUP: the first asks the run to end in order, a second SIGINT ends it at once. */
const CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

export interface Signals {
  /** 128 + the signal's number where one came, else null. */
  exitCode(): number | null
}

/**
 * @param interrupt told the signal's name, once
 * @param atOnce what must still be done before the process ends without more ado
 */
export function onSignals(interrupt: (name: string) => void, atOnce: () => void): Signals {
  let code: number | null = null
  for (const name of Object.keys(CODES) as Array<keyof typeof CODES>) {
    process.on(name, () => {
      if (code === null) {
        code = CODES[name]
        interrupt(name)
      } else if (name === 'SIGINT') {
        atOnce()
        process.exit(code)
      }
    })
  }
  return { exitCode: () => code }
}
