/**
 * The floor: what the runs of the bench cost with the least code. Bare Node, its fetch, no library: instructions up
 * the tree, the branch from git, one tool, one JSON file a session that is rewritten at each step. No permissions,
 * no retries, no safety: not an agent to use.
 *
 * usage: node floor.mjs [-c] <prompt>, with FLOOR_HOME and ANTHROPIC_BASE_URL set
 */
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const home = process.env.FLOOR_HOME
const resume = process.argv[2] === '-c'
const prompt = process.argv.at(-1)

const instructions = []
for (let directory = process.cwd(); ; directory = dirname(directory)) {
  const text = await readFile(join(directory, 'AGENTS.md'), 'utf8').catch(() => '')
  if (text) instructions.unshift(text)
  if (directory === dirname(directory)) break
}
const branch = await run('git', ['branch', '--show-current']).then(
  ({ stdout }) => stdout.trim(),
  () => 'none',
)
const system = [`You are a coding agent in ${process.cwd()}, branch ${branch}.`, ...instructions].join('\n\n')
const tools = [
  {
    name: 'bash',
    description: 'Runs a command.',
    input_schema: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
  },
]

await mkdir(home, { recursive: true })
const id = resume ? (await readdir(home))[0] : `${crypto.randomUUID()}.json`
const file = join(home, id)
const messages = resume ? JSON.parse(await readFile(file, 'utf8')) : []
messages.push({ role: 'user', content: [{ type: 'text', text: prompt }] })

for (;;) {
  const response = await fetch(`${process.env.ANTHROPIC_BASE_URL}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': process.env.ANTHROPIC_API_KEY },
    body: JSON.stringify({ model: 'bench', max_tokens: 1000, system, tools, messages }),
  })
  const { content } = await response.json()
  messages.push({ role: 'assistant', content })
  await writeFile(file, JSON.stringify(messages))
  const calls = content.filter((block) => block.type === 'tool_use')
  if (calls.length === 0) {
    console.log(JSON.stringify({ result: content[0].text }))
    break
  }
  const results = []
  for (const call of calls) {
    const { stdout } = await run('bash', ['-c', call.input.command])
    results.push({ type: 'tool_result', tool_use_id: call.id, content: stdout })
  }
  messages.push({ role: 'user', content: results })
  await writeFile(file, JSON.stringify(messages))
}
