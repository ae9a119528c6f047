/**
 * Terminal output as plain text: what a reader would have seen on the screen, without the means of drawing it.
 * Every expression here takes time linear in its input, since commands print what they like.
 */

/** CSI … final byte, in its 7-bit and 8-bit form. */
const CSI = '(?:\\x1b\\[|\\x9b)[0-?]*[ -/]*[@-~]'
/** OSC, SOS, PM, APC up to BEL or ST; within one line, so that an unended title cannot eat the output after it. */
const STRINGS = '(?:\\x1b[\\]X^_]|[\\x9d\\x98\\x9e\\x9f])[^\\x07\\n\\x1b\\x98-\\x9f]*(?:\\x07|\\x1b\\\\|\\x9c)'
/** DCS (pictures, key queries) up to ST, over several lines. */
const DCS = '(?:\\x1bP|\\x90)[^\\x1b\\x90\\x98-\\x9f]*(?:\\x1b\\\\|\\x9c)'
/** Two-character sequences, and the beginning of any sequence that has no end. */
const SHORT = '\\x1b[ -/]*[0-~]'

const SEQUENCES = new RegExp([CSI, STRINGS, DCS, SHORT].join('|'), 'g')
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g
const HAS_CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/

/**
 * Takes escape sequences and control characters out of terminal output. A line redrawn by carriage returns keeps
 * its last state, a backspace takes the character before it away; tabs and line ends stay, CR LF becomes LF.
 */
export function plain(text: string): string {
  if (!HAS_CONTROLS.test(text)) return text
  const unstyled = text.replace(SEQUENCES, '').replace(/\r+\n/g, '\n')
  const settled = /[\r\b]/.test(unstyled) ? unstyled.split('\n').map(settleLine).join('\n') : unstyled
  return settled.replace(CONTROLS, '')
}

function settleLine(line: string): string {
  const drawn = line.includes('\r') ? (line.split('\r').findLast((state) => state !== '') ?? '') : line
  if (!drawn.includes('\b')) return drawn
  const kept: string[] = []
  for (const character of drawn) {
    if (character === '\b') kept.pop()
    else kept.push(character)
  }
  return kept.join('')
}
