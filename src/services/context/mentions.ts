import type { ContextPort } from '../ports.ts'

export interface MentionOptions {
  cwd: string
  home: string
  warn: (message: string) => void
}

export function createMentionExpander(_options: MentionOptions): ContextPort['expandPrompt'] {
  return async (text, extra) =>
    [text, extra ?? ''].filter((part) => part.trim() !== '').map((part) => ({ type: 'text', text: part }))
}
