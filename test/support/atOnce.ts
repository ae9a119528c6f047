/** Processes that all do their work at the same moment. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { compiled, start } from '../services/storeSupport.ts'
import { temporaryDirectory } from './agent.ts'

/**
 * Starts a process for each list of arguments, and lets them go when all stand ready. Each must end well and say nothing.
 * @param source what each does, as a module of test/services with `args` in its scope
 */
export async function atOnce(source: string, processes: string[][]): Promise<void> {
  const directory = temporaryDirectory()
  const imports = source.match(/^\s*import .*$/gm) ?? []
  const script = await compiled(
    directory,
    `import { existsSync } from 'node:fs'
    ${imports.join('\n')}
    const [go, ...args] = process.argv.slice(2)
    console.log('ready')
    while (!existsSync(go)) {}
    ${imports.reduce((rest, line) => rest.replace(line, ''), source)}`,
  )
  const go = join(directory, 'go')
  const started = processes.map((args) => start(script, [go, ...args]))
  await Promise.all(started.map(({ child }) => new Promise((resolve) => child.stdout?.once('data', resolve))))
  writeFileSync(go, '')
  const ended = await Promise.all(started.map((one) => one.ended))
  expect(ended).toEqual(processes.map(() => ({ code: 0, signal: null, stdout: 'ready\n', stderr: '' })))
}
