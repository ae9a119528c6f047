/** A list to choose one from; typing narrows it. */
import type { Colors } from 'picocolors/types.js'
import { clip, displayWidth, printable } from '../services/text.ts'
import type { Panel } from './panel.ts'
import type { Stage } from './stage.ts'
import type { Talk } from './talk.ts'
import { wrap } from './wrap.ts'

/** Lets the person choose. @returns the index, null for none */
export function pick(
  title: string,
  items: string[],
  { stage, colors, talk }: { stage: Stage; colors: Colors; talk: Talk },
): Promise<number | null> {
  return new Promise((resolve) => {
    talk.setAsking(true)
    const close = stage.open(
      createPickerPanel(title, items, colors, (index) => {
        close()
        talk.setAsking(false)
        resolve(index)
      }),
    )
  })
}

/** @param done told the index of the chosen item, null where none is wanted */
function createPickerPanel(
  title: string,
  items: string[],
  colors: Colors,
  done: (index: number | null) => void,
): Panel {
  let query = ''
  let selected = 0
  let page = 1
  const lower = items.map((item) => item.toLowerCase())
  /** All words of what is typed, in any order. */
  const matching = (): number[] => {
    const words = query.toLowerCase().split(' ')
    return lower.flatMap((item, i) => (words.every((word) => item.includes(word)) ? [i] : []))
  }

  return {
    cancel: () => done(null),
    take(input) {
      if (input.kind !== 'key') {
        query += printable(input.text).replace(/\s+/g, ' ')
        selected = 0
        return true
      }
      const there = matching()
      const last = Math.max(0, there.length - 1)
      const { ctrl } = input
      const to = (at: number): void => {
        selected = Math.min(last, Math.max(0, at))
      }
      if (input.name === 'escape') done(null)
      else if (input.name === 'enter') done(there[selected] ?? null)
      else if (input.name === 'backspace') query = [...query].slice(0, -1).join('')
      else if (ctrl && (input.name === 'u' || input.name === 'w')) query = ''
      else if (input.name === 'up' || (ctrl && input.name === 'p')) to(selected - 1)
      // As where it comes from: Ctrl-R again is the next older one.
      else if (input.name === 'down' || (ctrl && (input.name === 'n' || input.name === 'r'))) to(selected + 1)
      else if (input.name === 'pageup') to(selected - page)
      else if (input.name === 'pagedown') to(selected + page)
      else if (input.name === 'home') to(0)
      else if (input.name === 'end') to(last)
      else return false
      return true
    },
    view(columns, rows) {
      const there = matching()
      const room = Math.max(1, Math.min(12, rows - 6))
      page = room
      const from = Math.max(0, Math.min(selected - Math.floor(room / 2), there.length - room))
      const lines = there.slice(from, from + room).map((index, i) => {
        const line = clip(items[index] ?? '', columns - 3)
        return from + i === selected ? `${colors.cyan('›')} ${colors.bold(line)}` : `  ${line}`
      })
      const rule = colors.dim('─'.repeat(Math.max(1, columns - 1)))
      const head = wrap(`${title} ${query}`, columns - 1)
      return {
        lines: [
          rule,
          ...head,
          ...(lines.length === 0 ? [colors.dim('  nothing matches')] : lines),
          colors.dim(
            clip(`${there.length} of ${items.length} · type to narrow · Enter takes it · Esc goes back`, columns - 1),
          ),
        ],
        cursor: { row: head.length, column: Math.min(columns - 1, displayWidth(head.at(-1) ?? '')) },
      }
    },
  }
}
