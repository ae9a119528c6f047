/** What commands may do to the conversation. Types only. */
import type { Colors } from 'picocolors/types.js'
import type { SessionChoice } from '../run/request.ts'
import type { Desk, OpenSession } from './desk.ts'
import type { Figures } from './status.ts'

export interface Hands {
  desk: Desk
  colors: Colors
  session(): OpenSession | null
  figures(): Figures
  isBusy(): boolean
  /** Sentences to the person, made printable. */
  tell(text: string): void
  /** Longer output, printable already, whole. */
  show(lines: string[]): void
  /** Sends a prompt. */
  send(text: string): void
  /** Has the conversation summarised. */
  compact(focus: string | null): void
  /** Opens a session in place of this one, below what stands on the screen or on an empty one. @returns whether it is open */
  open(choice: SessionChoice, where?: 'below' | 'onEmptyScreen'): Promise<boolean>
  setModel(name: string): void
  /** Lets the person choose. @returns the index, null for none */
  pick(title: string, items: string[]): Promise<number | null>
  /** Stops before each service from now on, or no more. @returns whether it does now; null where it cannot */
  toggleStep(): boolean | null
  leave(): void
}
