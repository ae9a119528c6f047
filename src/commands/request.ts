/** What a command is asked for, as the command line says it. */
import type { CommonOptions } from '../run/request.ts'

export interface CommandRequest {
  common: CommonOptions
  name: string
  /** Arguments after the command's name. */
  input: string[]
  flags: CommandFlags
}

/** What flags say to commands; each belongs to one or two of them. */
export interface CommandFlags {
  all: boolean
  /** As typed. */
  at: string | null
  graphFormat: string | null
  session: string | null
  noOpen: boolean
  list: boolean
  remove: boolean
}
