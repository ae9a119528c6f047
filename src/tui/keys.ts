/**
 * What a terminal sends, as keys: bytes in, keys out. Pure.
 *
 * Three dialects are read, since terminals differ: the classic control characters and `ESC [ …` sequences, `CSI u`
 * (kitty's protocol, also xterm's modifyOtherKeys), and bracketed paste, which is one piece of text whatever it holds.
 */

export interface Key {
  kind: 'key'
  /** `enter`, `tab`, `escape`, `backspace`, `delete`, arrows, `home`, `end`, `pageup`, `pagedown`, or one letter. */
  name: string
  ctrl: boolean
  alt: boolean
  shift: boolean
}

export type Input = Key | { kind: 'text'; text: string } | { kind: 'paste'; text: string }

export interface KeyReader {
  /** @returns what is complete by now */
  push(chunk: string): Input[]
  /** How long to wait, in milliseconds, for what may follow what is held; then `flush`. 0 where nothing is held. */
  waits(): number
  /** @returns what is held as what it was: the key Escape, Alt and a bracket; half a sequence was nothing */
  flush(): Input[]
}

const PASTE_BEGIN = '\x1b[200~'
const PASTE_END = '\x1b[201~'

const LETTERS: Record<string, string> = { A: 'up', B: 'down', C: 'right', D: 'left', H: 'home', F: 'end', Z: 'tab' }
const NUMBERS: Record<string, string> = {
  1: 'home',
  3: 'delete',
  4: 'end',
  5: 'pageup',
  6: 'pagedown',
  7: 'home',
  8: 'end',
}
const CODES: Record<number, string> = { 9: 'tab', 13: 'enter', 27: 'escape', 127: 'backspace' }
/** kitty's numbers for keys of the keypad: from 57399 the characters, from 57414 the rest. */
const KEYPAD_FROM = 57399
const KEYPAD = [
  ...'0123456789./*-+',
  ...['enter', '=', ',', 'left', 'right', 'up', 'down', 'pageup', 'pagedown', 'home', 'end', 'insert', 'delete'],
]

/** After this long without more an ESC was the key, in milliseconds. */
const ESCAPE_MS = 30
/** A sequence that has begun comes whole: over a slow line its parts may be so far apart. */
const SEQUENCE_MS = 500

/** `CSI 27 ; mods ; code ~` is xterm's way of saying `CSI code ; mods u`. */
const SEQUENCE = /^\x1b(?:\[([\d;:]*)([A-Za-z~])|O([A-Za-z])|\[\[[A-E])/
const UNFINISHED = /^\x1b(?:\[[\d;:<>?]*|O|)$/

export function createKeyReader(): KeyReader {
  let held = ''
  let paste: string[] | null = null

  const read = (): Input[] => {
    const out: Input[] = []
    while (held !== '') {
      if (paste !== null) {
        if (!readPaste(out)) return out
        continue
      }
      if (held.startsWith(PASTE_BEGIN)) {
        paste = []
        held = held.slice(PASTE_BEGIN.length)
        continue
      }
      const taken = readOne(held)
      if (taken === null) return out
      held = held.slice(taken.length)
      if (taken.input !== null) out.push(taken.input)
    }
    return out
  }
  /** @returns false where more must come */
  const readPaste = (out: Input[]): boolean => {
    const at = held.indexOf(PASTE_END)
    if (at < 0) {
      // The end may be cut in two.
      const keep = Math.min(held.length, PASTE_END.length - 1)
      paste?.push(held.slice(0, held.length - keep))
      held = held.slice(held.length - keep)
      return false
    }
    const end = lastEnd(held, at)
    out.push(endPaste(held.slice(0, end)))
    held = held.slice(end + PASTE_END.length)
    return true
  }
  const endPaste = (last: string): Input => {
    const text = [...(paste ?? []), last].join('')
    paste = null
    return { kind: 'paste', text: text.replace(/\r\n?/g, '\n') }
  }
  return {
    push(chunk) {
      if (paste !== null && isInterrupt(chunk)) {
        // The end of a paste was lost on the way: without this no key would mean anything any more.
        const last = held
        held = ''
        return [endPaste(last)]
      }
      held += chunk
      return read()
    },
    waits: () => (paste !== null || held === '' ? 0 : held.length > 2 ? SEQUENCE_MS : ESCAPE_MS),
    flush() {
      const text = held
      held = ''
      if (text === '') return []
      if (!text.startsWith('\x1b')) return [{ kind: 'text', text }]
      if (text.length > 2) return []
      return [text === '\x1b' ? key('escape') : key(text.slice(1).toLowerCase(), { alt: true })]
    },
  }
}

/**
 * @param at the first mark of a paste's end in what is held
 * @returns the mark that ends it: what was pasted may hold such marks itself, which not every terminal takes out
 */
function lastEnd(held: string, at: number): number {
  const next = held.indexOf(PASTE_END, at + PASTE_END.length)
  if (next < 0) return at
  const begin = held.indexOf(PASTE_BEGIN, at)
  return begin >= 0 && begin < next ? at : lastEnd(held, next)
}

/** Ctrl-C, alone. */
function isInterrupt(chunk: string): boolean {
  return chunk === '\x03' || chunk === '\x1b[99;5u'
}

function key(name: string, modifiers: Partial<Pick<Key, 'ctrl' | 'alt' | 'shift'>> = {}): Key {
  return { kind: 'key', name, ctrl: false, alt: false, shift: false, ...modifiers }
}

interface Taken {
  length: number
  /** null for what means nothing here. */
  input: Input | null
}

function readOne(text: string): Taken | null {
  const first = text[0] ?? ''
  if (first === '\x1b') return readEscape(text)
  if (first < ' ' || first === '\x7f') return { length: 1, input: control(first) }
  const run = /^[^\x00-\x1f\x7f]+/.exec(text)?.[0] ?? first
  // Half a character waits for its other half.
  const whole = /[\ud800-\udbff]$/.test(run) ? run.slice(0, -1) : run
  return whole === ''
    ? null
    : { length: whole.length, input: { kind: 'text', text: whole.replace(/[\x80-\x9f]/g, '') } }
}

function control(character: string): Key {
  const code = character.charCodeAt(0)
  if (character === '\r') return key('enter')
  // Ctrl-J, and what some terminals send for Shift-Enter.
  if (character === '\n') return key('enter', { shift: true })
  if (character === '\t') return key('tab')
  if (character === '\x7f' || character === '\b') return key('backspace')
  if (code === 0) return key('space', { ctrl: true })
  if (code <= 26) return key(String.fromCharCode(code + 96), { ctrl: true })
  return key(String.fromCharCode(code + 64), { ctrl: true })
}

/** A click where a program before us has left the mouse on: three characters follow, whatever they are. */
const CLICK = /^\x1b\[M[\s\S]{0,3}/

function readEscape(text: string): Taken | null {
  const click = CLICK.exec(text)?.[0]
  if (click !== undefined) return click.length < 6 ? null : { length: click.length, input: null }
  const match = SEQUENCE.exec(text)
  if (match !== null) {
    const [{ length }, parameters = '', final = '', single] = match
    const input = single === undefined ? sequence(parameters, final) : letter(single, {})
    return { length, input }
  }
  if (UNFINISHED.test(text)) return null
  // A report that was not asked for (focus, colours, a device's name): nothing to type.
  const report = /^\x1b(?:\[[\d;:<>?]*[ -/]*[@-~]|[\]P_^][^\x07\x1b]*(?:\x07|\x1b\\))/.exec(text)
  if (report !== null) return { length: report[0].length, input: null }
  const next = readOne(text.slice(1))
  if (next === null) return { length: 1, input: key('escape') }
  const { input } = next
  if (input?.kind === 'key') return { length: next.length + 1, input: { ...input, alt: true } }
  const [letterTyped = ''] = input?.text ?? ''
  return { length: 1 + letterTyped.length, input: key(letterTyped.toLowerCase(), { alt: true }) }
}

function letter(final: string, modifiers: Partial<Key>): Key | null {
  if (final === 'M') return key('enter')
  const name = LETTERS[final]
  if (name === undefined) return null
  return key(name, { ...modifiers, ...(final === 'Z' && { shift: true }) })
}

function sequence(parameters: string, final: string): Input | null {
  const [first = '', second = '', third = ''] = parameters.split(';')
  if (meansNothing(second)) return null
  if (final === '~' && first === '27') return coded(Number(third), modifiersOf(second))
  if (final === 'u') return coded(Number(first.split(':')[0]), modifiersOf(second))
  if (final === '~') {
    const name = NUMBERS[first]
    return name === undefined ? null : key(name, modifiersOf(second))
  }
  return letter(final, modifiersOf(second))
}

/** A key let go, or held with Super or Hyper: shortcuts of the desktop and no typing. */
function meansNothing(modifiers: string): boolean {
  const [bits = '', event] = modifiers.split(':')
  return event === '3' || (Math.max(0, Number(bits || 1) - 1) & 24) !== 0
}

function modifiersOf(text: string): Pick<Key, 'ctrl' | 'alt' | 'shift'> {
  const bits = Math.max(0, Number(text.split(':')[0] || 1) - 1)
  return { shift: (bits & 1) !== 0, alt: (bits & 2) !== 0, ctrl: (bits & 4) !== 0 }
}

function coded(code: number, modifiers: Pick<Key, 'ctrl' | 'alt' | 'shift'>): Input | null {
  const padded = KEYPAD[code - KEYPAD_FROM]
  if (padded?.length === 1) return coded(padded.charCodeAt(0), modifiers)
  const name = padded ?? CODES[code]
  if (name !== undefined) return key(name, modifiers)
  // Above are keys without a character: media keys, modifiers alone.
  if (!(code >= 32) || code > 0x10ffff || (code >= 57344 && code <= 63743)) return null
  const character = String.fromCodePoint(code)
  if (!modifiers.ctrl && !modifiers.alt)
    return { kind: 'text', text: modifiers.shift ? character.toUpperCase() : character }
  return key(character.toLowerCase(), modifiers)
}
