/**
 * A model that answers at once: the Messages API in a process of its own, so that the bench's loop does not wait
 * for it. It does not look into requests (parsing a long one would count as the agent's time), it counts them.
 *
 * POST /plan {turns}: the next `turns` requests are answered by a `bash` call, the one after by a text.
 * GET /log: {arrivals: [<ms, epoch>], sizes: [<bytes>], first: <body of the first request>} since the plan.
 * Started with an IPC channel; sends its port.
 */
import { createServer } from 'node:http'

let turns = 0
let arrivals = []
let sizes = []
let first = null

const server = createServer((request, response) => {
  const arrived = performance.timeOrigin + performance.now()
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const body = Buffer.concat(chunks)
    if (request.url === '/plan') {
      turns = JSON.parse(body).turns
      arrivals = []
      sizes = []
      first = null
      response.end()
    } else if (request.url === '/log') {
      response.end(JSON.stringify({ arrivals, sizes, first }))
    } else {
      const n = arrivals.push(arrived)
      sizes.push(body.length)
      first ??= body.toString()
      answer(
        response,
        n,
        body.subarray(0, 400).includes('"stream":true') || body.subarray(-400).includes('"stream":true'),
      )
    }
  })
})

function answer(response, n, stream) {
  // As long as real ones are: they are what is kept of a turn.
  const input = {
    command: `echo "turn ${n}: a line of the length that the output of a usual command has, more or less"`,
  }
  const id = `01Bench${String(n).padStart(17, '0')}`
  const block =
    n <= turns
      ? { type: 'tool_use', id: `toolu_${id}`, name: 'bash', input }
      : { type: 'text', text: `Done after ${n}.` }
  const stop_reason = n <= turns ? 'tool_use' : 'end_turn'
  const usage = { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
  const message = { id: `msg_${id}`, type: 'message', role: 'assistant', model: 'bench', stop_sequence: null }
  if (!stream) {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ ...message, content: [block], stop_reason, usage }))
    return
  }
  const isCall = block.type === 'tool_use'
  const start = isCall ? { ...block, input: {} } : { type: 'text', text: '' }
  const delta = isCall
    ? { type: 'input_json_delta', partial_json: JSON.stringify(input) }
    : { type: 'text_delta', text: block.text }
  const events = [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null, usage } },
    { type: 'content_block_start', index: 0, content_block: start },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ]
  response.setHeader('content-type', 'text/event-stream')
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''))
}

server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('disconnect', () => process.exit(0))
