/** What the model reads of a finished command. */
import { constants } from 'node:os'
import type { ToolResult } from '../../ports.ts'
import type { ShellEnd, ShellRun } from './run.ts'

/**
 * The output, then one line in brackets where the command did not end with exit code 0: its code, its signal, or what
 * stopped it. Everything but 0 is an error result, except where exit code 1 is an answer ("no match", "they differ").
 */
export function report(run: ShellRun, command: string): ToolResult {
  const output = run.output.replace(/\n+$/, '')
  const ending = endingOf(run.end)
  if (ending === null) return { kind: 'ok', content: output === '' ? '(no output)' : output }
  const content = output === '' ? ending : `${output}\n${ending}`
  const isAnswer = run.end.kind === 'exited' && run.end.code === 1 && answersWithOne(command)
  return { kind: isAnswer ? 'ok' : 'error', content }
}

function endingOf(end: ShellEnd): string | null {
  switch (end.kind) {
    case 'exited':
      return end.code === 0 ? null : `[exit code ${end.code}${afterSignal(end.code)}]`
    case 'signalled':
      return `[killed by ${end.signal}, exit code ${128 + constants.signals[end.signal]}]`
    case 'timedOut':
      return `[timed out after ${end.ms} ms: the command and all it started were ended. Give a larger timeout, or start what should go on in the background with & and its output in a file]`
    case 'aborted':
      return '[interrupted: the command and all it started were ended]'
    case 'unstartable':
      return end.message
  }
}

/** A shell reports a child that died of signal n as 128 + n. Not said of 129: that is how git tells of a wrong option. */
function afterSignal(code: number): string {
  if (code === 129) return ''
  const signal = Object.entries(constants.signals).find(([, number]) => code === 128 + number)
  return signal ? `: 128 + ${signal[0]}` : ''
}

const ANSWERING = /^(?:[efz]?grep|rg|diff|cmp|test|\[|\[\[|pgrep|git\s+(?:grep|diff))(?:\s|$)/

/** Whether the last command of the line is one whose exit code 1 means "no". By its looks only: a wrong guess costs a flag, the code is in the text either way. */
function answersWithOne(command: string): boolean {
  const last =
    command
      .trim()
      .split(/[\n;|]|&&/)
      .at(-1)
      ?.trim() ?? ''
  return ANSWERING.test(last)
}
