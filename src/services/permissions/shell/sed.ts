/** sed's scripts write files (`w`) and run programs (`e`) by a letter, so only what is known to do neither counts. */

/** Options that take no value and do no harm. */
const HARMLESS = /^(?:-[nErszu]+|--(?:quiet|silent|regexp-extended|null-data|posix|debug|sandbox|unbuffered))$/

// A bracket must not hold the delimiter: systems differ on whether it ends there.
const REGEX = String.raw`\/(?:[^\/\\\n\[]|\\.|\[\^?\]?[^\]\/\\\n]*\])*\/I?`
const ADDRESS = String.raw`(?:\d+(?:~\d+)?|\$|${REGEX})(?:,(?:[+~]?\d+|\$|${REGEX}))?!?`
const MATCHED = String.raw`(?:(?!\1)[^\\\n\[]|\\.|\[\^?\]?(?:(?!\1)[^\]\\\n])*\])*`
const SUBSTITUTE = String.raw`s([\/|#,:@!])${MATCHED}\1(?:(?!\1)[^\\\n]|\\.)*\1[gpiIm\d]*`
const COMMAND = new RegExp(String.raw`^(?:${ADDRESS})? ?(?:[pdqQ=gGhHxnNDPlz]\d*|${SUBSTITUTE})[ \t]*(?:[;\n]\s*|$)`)

/** Characters; longer scripts are nothing a rule with a star was meant for. */
const LONGEST = 2_000

/** @param args the words behind `sed` @returns whether all of its options and scripts are known to do no harm */
export function isPlainSed(args: readonly string[]): boolean {
  const scripts: string[] = []
  const operands: string[] = []
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? ''
    if (arg === '-e' || arg === '--expression') scripts.push(args[++i] ?? '')
    else if (arg.startsWith('--expression=')) scripts.push(arg.slice('--expression='.length))
    else if (arg.startsWith('-') && arg !== '-') {
      if (!HARMLESS.test(arg)) return false
    } else operands.push(arg)
  }
  if (scripts.length === 0) scripts.push(operands.shift() ?? '')
  return scripts.every(isPlainScript)
}

function isPlainScript(script: string): boolean {
  if (script.length > LONGEST) return false
  let rest = script.trim()
  while (rest !== '') {
    const command = COMMAND.exec(rest)
    if (command === null) return false
    rest = rest.slice(command[0].length)
  }
  return true
}
