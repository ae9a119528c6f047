/** What a run shows of itself: contract.md, section 3. */
import type { Writable } from 'node:stream'
import picocolors from 'picocolors'
import type { Observe, OutputPort, RunResult } from '../ports.ts'
import { printableLine } from '../text.ts'
import { type Format, jsonFormat, streamJsonFormat } from './jsonLines.ts'
import { errorLines, hintLines, notice, sessionLine } from './notices.ts'
import { createProgressView, type ProgressView } from './progress.ts'
import { createScreen, type Screen } from './screen.ts'
import { createSink, type Gone } from './sink.ts'
import { pipedTextFormat, terminalTextFormat } from './textFormat.ts'

export type { Gone } from './sink.ts'

export type OutputFormat = 'text' | 'json' | 'stream-json'

export interface OutputOptions {
  format: OutputFormat
  stdout: Writable
  stderr: Writable
  stdoutIsTty: boolean
  stderrIsTty: boolean
  /** NO_COLOR, FORCE_COLOR and TERM are read. */
  env: NodeJS.ProcessEnv
  /** The terminal's width now, in columns; 80 where it is unknown. */
  columns: () => number | undefined
  /** Milliseconds since some fixed time; the process's monotonic clock by default. */
  now?: () => number
  /** Called once when stdout takes nothing any more: the run is to end and to be saved. */
  onClosed?: (why: Gone) => void
}

export interface Output extends OutputPort {
  /**
   * Takes the status line away for a question to the user.
   * @returns gives it back
   */
  pause(): () => void
  /** Takes the status line away at once and for good, for an end without `finish`; harmless at any time. */
  stop(): void
  /** Why stdout takes nothing any more, null while it does. Of a `failed` one the user is told by `finish`. */
  closed(): Gone | null
}

/**
 * Colours: only on a terminal that can, and only if the user does not say otherwise. FORCE_COLOR turns them off
 * (`0`, `false`), never on: a file with escape codes in it helps nobody (no-color.org; contract.md, 3).
 */
export function wantsColor(isTty: boolean, env: NodeJS.ProcessEnv): boolean {
  if (!isTty || env.TERM === 'dumb') return false
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== '') return false
  return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false'
}

/**
 * The output of one run. stdout carries only what the format promises, everything else goes to stderr.
 *
 * - `json`: one document at the end. `stream-json`: a line for each whole message. See jsonLines.ts.
 * - `text`: on a terminal everything the agent says, as it comes; in a pipe the final answer. See textFormat.ts.
 * - Progress is drawn where stderr is a terminal: with `text`, and with `json` where stdout leads elsewhere.
 * - Warnings, retries and errors are lines on stderr in every format.
 *
 * A stream that closes or breaks never throws: see `onClosed` and `closed`.
 */
export function createOutput(options: OutputOptions): Output {
  const { env, stdoutIsTty, stderrIsTty } = options
  const columns = () => Math.max(1, options.columns() || 80)
  const colors = picocolors.createColors(wantsColor(stderrIsTty, env))
  const stdout = createSink(options.stdout, (why) => options.onClosed?.(why))
  const stderr = createSink(options.stderr, () => {})
  const now = options.now ?? (() => performance.now())
  const shared = stdoutIsTty && stderrIsTty
  const screen = createScreen(stdout, stderr, shared, columns, now)
  const format = createFormat()
  const view = showsProgress(options) ? createView() : null
  /** Only then there is a session to name at the end. */
  let started = false
  let finished = false

  function createFormat(): Format {
    switch (options.format) {
      case 'json':
        return jsonFormat(stdout)
      case 'stream-json':
        return streamJsonFormat(stdout)
      case 'text':
        return stdoutIsTty ? terminalTextFormat(screen, markVoid) : pipedTextFormat(screen)
    }
  }
  /** Where the person looks: on stderr, or, if that leads elsewhere, under the text on stdout. */
  function markVoid(line: string): void {
    if (shared) screen.line(colors.yellow(line))
    else screen.answer(`${line}\n`)
  }
  function createView(): ProgressView {
    return createProgressView({ screen, colors, columns, now, animated: env.TERM !== 'dumb' })
  }
  function writeEnd(result: RunResult): void {
    // Whoever ended the run by leaving need not be told.
    if (result.subtype === 'error_interrupted' && stdout.gone()?.kind === 'reader') return
    for (const line of errorLines(result, colors)) screen.line(line)
    if (options.format !== 'text') return
    for (const line of hintLines(result, colors)) screen.line(line)
    if (started) screen.line(sessionLine(result, colors, stderrIsTty))
  }
  return {
    observe(event) {
      if (finished) return
      started ||= event.type === 'started'
      const line = notice(event, colors)
      if (line !== null) screen.line(line)
      format.observe(event)
      view?.observe(event)
    },
    async finish(result) {
      if (finished) return
      finished = true
      view?.stop()
      format.finish(result)
      await stdout.flush()
      writeEnd(result)
      reportLoss(stdout.gone(), result, screen, colors.red('error:'))
      await stderr.flush()
    },
    pause: () => view?.pause() ?? (() => {}),
    stop: () => view?.stop(),
    closed: () => stdout.gone(),
  }
}

/** Where a terminal is to be drawn on that no JSON goes to. */
function showsProgress({ format, stderrIsTty, stdoutIsTty }: OutputOptions): boolean {
  return stderrIsTty && (format === 'text' || (format === 'json' && !stdoutIsTty))
}

function reportLoss(gone: Gone | null, result: RunResult, screen: Screen, label: string): void {
  if (gone?.kind !== 'failed') return
  // Without a reply there is no answer, and perhaps no session.
  const where = result.num_turns === 0 ? '' : ` It is kept: \`agent sessions show ${result.session_id}\` shows it.`
  screen.line(`${label} The answer could not be written to stdout (${printableLine(gone.message)}).${where}`)
}

/**
 * What of a subagent's run is for the parent's observers: its messages, calls, retries and warnings. Its text as it
 * comes, its states and its compactions would pass for the parent's own.
 * @param parent_tool_use_id the call that the subagent works for
 */
export function observeSubagent(observe: Observe, parent_tool_use_id: string): Observe {
  return (event) => {
    switch (event.type) {
      case 'started':
      case 'state':
      case 'text':
      case 'textDiscarded':
      case 'compacted':
        return
      case 'toolStarted':
      case 'toolFinished':
        return observe({ ...event, parent_tool_use_id })
      default:
        observe(event)
    }
  }
}
