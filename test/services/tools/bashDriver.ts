/** An agent reduced to its shell commands, as a process that tests can kill. */
import { bashTool, endAllGroups } from '../../../src/services/tools/bash.ts'
import type { Orders } from './bashSupport.ts'

const orders: Orders = JSON.parse(process.argv[2] ?? '')
const env = { cwd: process.cwd(), signal: new AbortController().signal, childEnv: process.env, seen: new Map() }
const say = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`)

await Promise.all(
  orders.commands.map(async (input) => {
    say(await bashTool.run(input, env))
  }),
)
say(process.resourceUsage().maxRSS / 1024)
switch (orders.atEnd) {
  case 'exit':
    process.exit(0)
    break
  case 'end':
    await endAllGroups()
    break
  case 'stay':
    setInterval(() => {}, 1000)
}
