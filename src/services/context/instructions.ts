import type { InstructionText } from './sections.ts'

export interface InstructionOptions {
  cwd: string
  home: string
  trusted: boolean
  warn: (message: string) => void
}

export function createInstructionReader(_options: InstructionOptions): () => InstructionText[] {
  return () => []
}
