/**
 * The soak's model, in a process of its own: one tool round after another, with a subagent now and then, and
 * summaries when they are asked for. Reports usage by the size of the request, so that budgets mean something.
 *
 * Started by soak.mjs with the number of rounds as its argument; sends {port}, and {round, bytes} for each round.
 */
import { createServer } from 'node:http'

const rounds = Number(process.argv[2])
/** Of 100 rounds: which are no shell command. */
const SUBAGENT = 50
const READ_EACH = 10

let round = 0

const server = createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const text = Buffer.concat(chunks).toString()
    const { messages, model } = JSON.parse(text)
    reply(response, model, text.length, blockFor(messages, text.length))
  })
})

function blockFor(messages, bytes) {
  const last = messages.at(-1).content.at(-1)
  if (last.type === 'text' && last.text.includes('is about to be replaced by a summary'))
    return { type: 'text', text: `SUMMARY up to round ${round}.` }
  const first = messages[0].content[0].text
  if (first?.startsWith('SUB '))
    return messages.length === 1 ? bash(`sub_${first.slice(4)}`) : { type: 'text', text: 'sub done' }
  round += 1
  process.send({ round, bytes })
  if (round > rounds) return { type: 'text', text: `Done after ${rounds} rounds.` }
  const id = `toolu_${String(round).padStart(6, '0')}`
  if (round % 100 === SUBAGENT) return { type: 'tool_use', id, name: 'task', input: { description: `SUB ${round}` } }
  if (round % READ_EACH === 5) return { type: 'tool_use', id, name: 'read_file', input: { path: 'a.txt' } }
  if (round % READ_EACH === 7)
    return { type: 'tool_use', id, name: 'grep', input: { pattern: 'line 1', path: 'a.txt' } }
  if (round % READ_EACH === 9)
    return { type: 'tool_use', id, name: 'write_file', input: { path: 'b.txt', content: `round ${round}\n` } }
  return bash(id)
}

function bash(id) {
  return { type: 'tool_use', id, name: 'bash', input: { command: 'seq 150' } }
}

function reply(response, model, bytes, block) {
  const isCall = block.type === 'tool_use'
  const usage = { input_tokens: Math.ceil(bytes / 4), output_tokens: 50 }
  const message = {
    id: `msg_${Math.random()}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    usage,
  }
  const delta = isCall
    ? { type: 'input_json_delta', partial_json: JSON.stringify(block.input) }
    : { type: 'text_delta', text: block.text }
  const events = [
    { type: 'message_start', message },
    {
      type: 'content_block_start',
      index: 0,
      content_block: isCall ? { ...block, input: {} } : { type: 'text', text: '' },
    },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: isCall ? 'tool_use' : 'end_turn' }, usage: { output_tokens: 50 } },
    { type: 'message_stop' },
  ]
  response.setHeader('content-type', 'text/event-stream')
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''))
}

server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('disconnect', () => process.exit(0))
