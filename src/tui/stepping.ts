/** Step mode: the agent stops before each service, and one key takes the step. */
import type { Colors } from 'picocolors/types.js'
import { planLines } from '../services/step/plan.ts'
import type { StepPort, Stop } from '../services/stepPorts.ts'
import { clip, printableLine } from '../services/text.ts'
import type { Panel } from './panel.ts'
import type { Stage } from './stage.ts'
import type { Talk } from './talk.ts'

/** Lines of what the service will do. */
const PLAN_ROWS = 8

export interface Stepping {
  /** @returns whether it stops from now on */
  toggle(): boolean
  /** An interrupt lets the rest of its turn pass; the next turn stops again. */
  turnBegins(): void
}

export function createStepping({ stage, colors, talk }: { stage: Stage; colors: Colors; talk: Talk }): Stepping {
  let isOn = false
  let released = false
  const port: StepPort = {
    before(stop, signal) {
      if (!isOn || released || signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const end = (): void => {
          signal.removeEventListener('abort', end)
          close()
          talk.setStopped(null)
          resolve()
        }
        let plan: string[] = []
        const close = stage.open(
          panelOf(
            stop,
            () => plan,
            colors,
            (word) => act(word, end),
          ),
        )
        // It may read files: the panel stands meanwhile.
        void stop.plan().then(
          (known) => {
            plan = planLines(known, stage.columns() - 5).slice(0, PLAN_ROWS)
            stage.now()
          },
          () => {},
        )
        talk.setStopped(stop.service)
        signal.addEventListener('abort', end, { once: true })
      })
    },
    release() {
      released = true
    },
  }
  const act = (word: 'next' | 'on' | 'stop', end: () => void): void => {
    if (word === 'on') isOn = false
    if (word === 'stop') talk.interrupt()
    end()
  }
  return {
    toggle() {
      isOn = !isOn
      released = false
      talk.setStep(isOn ? port : null)
      return isOn
    },
    turnBegins() {
      released = false
    },
  }
}

function panelOf(
  stop: Stop,
  plan: () => string[],
  colors: Colors,
  done: (word: 'next' | 'on' | 'stop') => void,
): Panel {
  return {
    take(input) {
      const name = input.kind === 'text' ? input.text : input.kind === 'key' ? input.name : ''
      if (name === 'n' || name === 'enter' || name === ' ') done('next')
      else if (name === 'c') done('on')
      else if (name === 'q' || name === 'escape') done('stop')
      else return false
      return true
    },
    view(columns) {
      const next = stop.next.map(({ event, to }) => `${event} → ${to.join(' or ')}`)
      const lines = [
        `${colors.yellow('■')} transition ${stop.taken}: ${colors.bold(stop.state)} is about to start ${colors.bold(stop.service)}`,
        ...plan().map((line) => `  ${line}`),
        ...next.map((line) => colors.dim(clip(`  ${printableLine(line)}`, columns - 1))),
        'n next · c go on without stopping · q interrupt',
      ]
      const rule = colors.yellow('─'.repeat(Math.max(1, columns - 1)))
      return {
        lines: [rule, ...lines.map((line) => clipped(line, columns - 1))],
        cursor: { row: lines.length, column: 0 },
      }
    },
  }
}

function clipped(line: string, columns: number): string {
  return line.includes('\x1b') ? line : clip(line, columns)
}
