/** Whether there is someone to ask before a tool runs. */
import type { Output } from '../services/output/index.ts'
import { createLineAsker } from '../services/permissions/askLine.ts'
import type { AskPerson } from '../services/ports.ts'
import type { CommonOptions, RunRequest } from './request.ts'

/** @returns null in headless runs, where what would ask is refused (contract.md, section 8) */
export function personToAsk(output: Output, common: CommonOptions, request: RunRequest): AskPerson | null {
  const { stdin, stdout, stderr } = process
  const atTerminal = stdin.isTTY === true && stderr.isTTY === true
  const wantsText = common.format === 'text' || (common.format === null && stdout.isTTY === true)
  // With --step and with a prompt on stdin the terminal's lines belong to others.
  if (!atTerminal || !wantsText || request.yes || request.step || request.prompt.kind === 'stdin') return null
  return createLineAsker({ input: stdin, output: stderr, pause: () => output.pause() })
}
