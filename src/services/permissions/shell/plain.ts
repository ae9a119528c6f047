/**
 * The strict reader: command lines of plain words joined by operators, and nothing else. What it does not know, it
 * refuses and says what it was. An allow rule needs both readers, this one and the grammar's, to see the same.
 */

export interface PlainWord {
  value: string
  /** Stands for file names that match. */
  glob: boolean
}

export interface PlainCommand {
  words: PlainWord[]
  /** Files it reads through `<`. */
  inputs: string[]
  /** Redirections in all. */
  redirections: number
}

export type PlainReading = { kind: 'plain'; commands: PlainCommand[] } | { kind: 'refused'; because: string }

/** Words that begin something else than a simple command. */
export const RESERVED: ReadonlySet<string> = new Set(
  '! { } [[ ]] if then elif else fi for while until do done case esac select function time coproc in'.split(' '),
)
/** Characters that mean themselves outside quotes. */
const PLAIN = /[\p{L}\p{N}\p{M}_./:=,@%+^~\]-]/u
const OPERATORS = ['&&', '||', '|&', ';', '|', '&', '\n']

class Refusal extends Error {}

/**
 * @param names whether a command's name may be a pattern: in rules it may
 * @returns the simple commands of a command line in order, or the first thing in it that is more than that
 */
export function readPlain(command: string, names: 'literal' | 'pattern' = 'literal'): PlainReading {
  try {
    return { kind: 'plain', commands: new Reader(command, names).read() }
  } catch (error) {
    if (error instanceof Refusal) return { kind: 'refused', because: error.message }
    throw error
  }
}

function refuse(because: string): never {
  throw new Refusal(because)
}

class Reader {
  readonly #text: string
  readonly #names: 'literal' | 'pattern'
  #at = 0
  #commands: PlainCommand[] = []
  #current: PlainCommand = { words: [], inputs: [], redirections: 0 }
  /** The last operator wants a command after it. */
  #open = false

  constructor(text: string, names: 'literal' | 'pattern') {
    this.#text = text
    this.#names = names
    const odd = /[^\P{C}\t\n]|[^\P{Z} ]/u.exec(text)
    if (odd) refuse('it holds an invisible character')
  }

  read(): PlainCommand[] {
    while (this.#at < this.#text.length) this.#step()
    this.#endCommand('')
    if (this.#open) refuse('it is not complete')
    if (this.#commands.length === 0) refuse('it is empty')
    return this.#commands
  }

  #step(): void {
    const rest = this.#text.slice(this.#at)
    if (/^[ \t]/.test(rest)) {
      this.#at += 1
      return
    }
    const redirection = /^(?:(\d*)([<>]{1,3}[&|]?)|&>>?)/.exec(rest)
    if (redirection) {
      this.#redirect(redirection[0])
      return
    }
    const operator = OPERATORS.find((text) => rest.startsWith(text))
    if (operator !== undefined) {
      this.#at += operator.length
      this.#endCommand(operator)
      return
    }
    this.#current.words.push(this.#word())
  }

  #endCommand(operator: string): void {
    const { words, redirections } = this.#current
    const [first] = words
    if (first === undefined) {
      if (redirections > 0) refuse('it has a redirection without a command')
      if (operator === '\n' || operator === '') return
      refuse('an operator has no command before it')
    }
    if (first.glob && this.#names === 'literal') refuse("a command's name is a pattern")
    if (/^\w+\+?=|^\w+\[/.test(first.value)) refuse('it sets a variable')
    this.#commands.push(this.#current)
    this.#current = { words: [], inputs: [], redirections: 0 }
    this.#open = operator === '&&' || operator === '||' || operator === '|' || operator === '|&'
  }

  /** Between descriptors, to and from /dev/null: fine. From a file: noted. To a file: refused. */
  #redirect(operator: string): void {
    this.#at += operator.length
    this.#current.redirections += 1
    const bare = operator.replace(/^\d+/, '')
    while (/[ \t]/.test(this.#text[this.#at] ?? '')) this.#at += 1
    if (!/[^\s;|&<>()]/.test(this.#text[this.#at] ?? '')) refuse('it has a redirection that leads nowhere')
    const target = this.#word()
    if (target.glob) refuse('it redirects to a pattern')
    const between = /^[<>]&$/.test(bare) && /^(?:\d|-)$/.test(target.value)
    if (between || target.value === '/dev/null') {
      if (bare.startsWith('<<')) refuse('it has a here-document')
      return
    }
    if (bare.startsWith('<<')) refuse('it has a here-document')
    if (bare === '<' && !operator.startsWith('<>')) this.#current.inputs.push(target.value)
    else refuse('it redirects to a file')
  }

  #word(): PlainWord {
    const from = this.#at
    let value = ''
    let glob = false
    for (let c = this.#char(); c !== '' && !/[\s;|&<>]/.test(c); c = this.#char()) {
      if (c === "'") value += this.#single()
      else if (c === '"') value += this.#double()
      else if (c === '\\') value += this.#escape()
      else if (c === '*' || c === '?' || c === '[') {
        glob = true
        value += c
        this.#at += 1
      } else if (PLAIN.test(c)) {
        value += c
        this.#at += c.length
      } else refuse(WHAT[c] ?? `it holds the character ${c} outside quotes`)
    }
    const raw = this.#text.slice(from, this.#at)
    if (raw === value && RESERVED.has(value) && this.#current.words.length === 0)
      refuse(`it is more than a list of commands (${value})`)
    // A digit that touches > belongs to the redirection, and was taken for a word here.
    if (/^\d+$/.test(raw) && /[<>]/.test(this.#char())) refuse('it redirects a descriptor')
    return { value, glob }
  }

  #char(): string {
    const code = this.#text.codePointAt(this.#at)
    return code === undefined ? '' : String.fromCodePoint(code)
  }

  #single(): string {
    const end = this.#text.indexOf("'", this.#at + 1)
    if (end < 0) refuse('a quote is not closed')
    const inside = this.#text.slice(this.#at + 1, end)
    this.#at = end + 1
    return inside
  }

  #double(): string {
    let inside = ''
    for (let i = this.#at + 1; i < this.#text.length; i++) {
      const c = this.#text[i] ?? ''
      if (c === '"') {
        this.#at = i + 1
        return inside
      }
      if (c === '$' || c === '`') refuse(WHAT[c] ?? '')
      if (c !== '\\') inside += c
      else {
        i += 1
        const next = this.#text[i] ?? ''
        if (next === '\n') refuse('a line goes on after a backslash')
        inside += '$`"\\'.includes(next) ? next : `\\${next}`
      }
    }
    return refuse('a quote is not closed')
  }

  #escape(): string {
    const next = this.#text[this.#at + 1] ?? ''
    if (next === '' || next === '\n' || next > '~') refuse('a line goes on after a backslash')
    this.#at += 2
    return next
  }
}

const WHAT: Record<string, string> = {
  $: 'it holds a variable or a substitution',
  '`': 'it holds a substitution',
  '(': 'it holds a subshell, a function or an array',
  ')': 'it holds a parenthesis',
  '{': 'it holds braces',
  '}': 'it holds braces',
  '#': 'it holds a comment',
  '!': 'it holds a negation or a reference to the history',
}
