/** Messages by number: a page that has seen a message need not get it again, at whatever step it stands. */
import { createHash } from 'node:crypto'
import type { Message } from '../../machines/messages.ts'

export interface Numbering {
  /** @returns the numbers of the messages; equal content has one number for good */
  numbersOf(messages: readonly Message[]): number[]
  messageOf(number: number): Message | undefined
}

export function createNumbering(): Numbering {
  const known = new WeakMap<Message, number>()
  const byContent = new Map<string, number>()
  const messages: Message[] = []

  const numberOf = (message: Message): number => {
    // Steps share their settled messages, so nearly all are known by identity.
    const seen = known.get(message)
    if (seen !== undefined) return seen
    const key = createHash('sha256').update(JSON.stringify(message)).digest('base64')
    const number = byContent.get(key) ?? messages.push(message) - 1
    byContent.set(key, number)
    known.set(message, number)
    return number
  }

  return { numbersOf: (all) => all.map(numberOf), messageOf: (number) => messages[number] }
}
