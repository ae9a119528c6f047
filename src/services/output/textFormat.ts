/**
 * The `text` format: the answer on stdout.
 *
 * On a terminal every text of the agent is shown as it comes, the remarks between tool rounds too: a person
 * watches. A reply that breaks off cannot be taken back there; a line says that it is void.
 *
 * In a pipe or a file stdout is only the answer, the text that `result` has in JSON, written when it is whole: what
 * `$(agent --output-format text -p "…")` catches has no remarks from the way there and nothing twice after a retry.
 *
 * Both are printable text: control sequences are shown, never sent, for a pipe often ends on a terminal. JSON
 * keeps every character.
 */
import { isBlank, textOf } from '../../machines/messages.ts'
import type { Progress, RunResult } from '../ports.ts'
import { createPrinter, printable } from '../text.ts'
import type { Format } from './jsonLines.ts'
import type { Screen } from './screen.ts'

/** Text for a pipe or a file: the whole answer at the end, with exactly one line end after it at least. */
export function pipedTextFormat(screen: Screen): Format {
  return {
    observe: () => {},
    finish: (result) => writeWhole(screen, result),
  }
}

function writeWhole(screen: Screen, result: RunResult): void {
  screen.answer(printable(result.result))
  screen.endAnswerLine()
}

/**
 * Text for a terminal: streamed, a blank line between the texts of two replies.
 * @param markVoid shows a line that says that the text above it does not count
 */
export function terminalTextFormat(screen: Screen, markVoid: (line: string) => void): Format {
  const printer = createPrinter()
  /** What has come of the reply under way, as it came. */
  let received = ''
  /** White space at a reply's beginning: shown only if something follows, for replies that only call tools. */
  let leading = ''
  let replyShown = false
  let anythingShown = false
  let compacting = false

  const show = (text: string) => {
    received += text
    if (!replyShown) {
      leading += text
      if (isBlank(leading)) return
      if (anythingShown) screen.answer('\n')
      replyShown = anythingShown = true
      screen.answer(printer.push(leading.replace(/^(?:[^\S\n]*\n)+/, '')))
      return
    }
    screen.answer(printer.push(text))
  }
  const endReply = () => {
    screen.answer(printer.end())
    screen.endAnswerLine()
    received = leading = ''
    replyShown = false
  }
  const observe = (event: Progress) => {
    switch (event.type) {
      case 'state':
        compacting = event.state === 'compacting'
        return
      case 'text':
        // A summary is written for the model, not for the user.
        if (!compacting) show(event.text)
        return
      case 'textDiscarded': {
        const shown = replyShown
        endReply()
        if (shown) markVoid('-- The reply broke off here and is asked for again: its text above is void. --')
        return
      }
      case 'reply': {
        if (event.parent_tool_use_id !== null) return
        // A server that answers in one piece streams nothing: then the text comes from the reply.
        const whole = textOf(event.record.content)
        if (whole.startsWith(received)) show(whole.slice(received.length))
        return endReply()
      }
      default:
        return
    }
  }
  return {
    observe,
    finish(result) {
      endReply()
      if (!anythingShown) writeWhole(screen, result)
    },
  }
}
