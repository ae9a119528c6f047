/**
 * The rules every request must keep (contract.md, 4, "Every request is valid whatever happened before"), worded
 * like the API's own 400 answers. Stricter than the API where it is said two ways: roles must alternate, and
 * adjacent messages of one role are refused rather than merged.
 */

type Json = Record<string, unknown>

export interface ValidateOptions {
  /** The request follows a reply that ended in `pause_turn`: it may end with the assistant's message. */
  mayEndWithAssistant?: boolean
  /** Thinking blocks without text are unchanged ones of a server that keeps the text to itself. */
  mayHaveEmptyThinking?: boolean
}

const TOP_LEVEL = new Set([
  'model',
  'max_tokens',
  'system',
  'tools',
  'messages',
  'stream',
  'tool_choice',
  'thinking',
  'metadata',
  'stop_sequences',
  'output_config',
  'cache_control',
])
const NAME = /^[a-zA-Z0-9_-]{1,128}$/
const ID = /^[a-zA-Z0-9_-]+$/
const IMAGE_TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const LONE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/

class Refused extends Error {}

function refuse(message: string): never {
  throw new Refused(message)
}

/**
 * Checks one request body.
 * @param raw the body as text, exactly as it went over the wire
 * @returns the message of the 400 the API would answer, or null where the request is valid
 */
export function validateRequest(raw: string, options: ValidateOptions = {}): string | null {
  try {
    checkBody(parse(raw), options)
    return null
  } catch (error) {
    if (error instanceof Refused) return error.message
    throw error
  }
}

function parse(raw: string): Json {
  if (LONE.test(raw)) refuse('The request body is not valid UTF-8: it holds half a surrogate pair.')
  let value: unknown
  try {
    value = JSON.parse(raw)
  } catch {
    refuse('The request body is not valid JSON.')
  }
  checkSurrogates(value, 'body')
  return isObject(value) ? value : refuse('The request body is not a JSON object.')
}

function checkBody(body: Json, options: ValidateOptions): void {
  for (const key of Object.keys(body)) if (!TOP_LEVEL.has(key)) refuse(`${key}: Extra inputs are not permitted`)
  if (typeof body.model !== 'string' || body.model === '') refuse('model: Field required')
  if (!Number.isInteger(body.max_tokens) || Number(body.max_tokens) < 1)
    refuse('max_tokens: Field required, a whole number of at least 1')
  if (body.system !== undefined && typeof body.system !== 'string') refuse('system: Input should be one string')
  if (body.stream !== undefined && typeof body.stream !== 'boolean') refuse('stream: Input should be a boolean')
  const names = checkTools(body.tools)
  checkToolChoice(body.tool_choice, names)
  checkMessages(body.messages, options)
  if (names === null && usesTools(body.messages))
    refuse('Requests which include `tool_use` or `tool_result` blocks must define tools')
  const marks = countMarks(body)
  if (marks > 4) refuse(`A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`)
}

function checkTools(tools: unknown): Set<string> | null {
  if (tools === undefined) return null
  if (!Array.isArray(tools)) refuse('tools: Input should be a list')
  const names = new Set<string>()
  tools.forEach((tool: unknown, at) => {
    if (!isObject(tool)) refuse(`tools.${at}: Input should be an object`)
    onlyKeys(tool, ['name', 'description', 'input_schema', 'cache_control'], `tools.${at}`)
    const { name, description, input_schema } = tool
    if (typeof name !== 'string' || !NAME.test(name))
      refuse(`tools.${at}.name: String should match pattern ${NAME.source}`)
    if (names.has(name)) refuse('tools: Tool names must be unique.')
    if (description !== undefined && typeof description !== 'string')
      refuse(`tools.${at}.description: Input should be a string`)
    if (!isObject(input_schema)) refuse(`tools.${at}.input_schema: Field required`)
    if (input_schema.type !== 'object') refuse(`tools.${at}.input_schema.type: Input should be 'object'`)
    names.add(name)
  })
  return names.size === 0 ? null : names
}

function checkToolChoice(choice: unknown, names: Set<string> | null): void {
  if (choice === undefined) return
  if (names === null) refuse('tool_choice may only be specified while providing tools.')
  if (!isObject(choice) || !['auto', 'any', 'tool', 'none'].includes(String(choice.type)))
    refuse('tool_choice.type: Input should be auto, any, tool or none')
}

function checkMessages(messages: unknown, options: ValidateOptions): void {
  if (!Array.isArray(messages) || messages.length === 0) refuse('messages: at least one message is required')
  const ids = new Set<string>()
  let open: string[] = []
  messages.forEach((message: unknown, at) => {
    const where = `messages.${at}`
    if (!isObject(message)) refuse(`${where}: Input should be an object`)
    onlyKeys(message, ['role', 'content'], where)
    const role = message.role
    if (role !== 'user' && role !== 'assistant') refuse(`${where}.role: Input should be 'user' or 'assistant'`)
    if (at === 0 && role !== 'user') refuse('messages: first message must use the "user" role')
    if (role !== (at % 2 === 0 ? 'user' : 'assistant'))
      refuse(
        `messages: roles must alternate between "user" and "assistant", but found multiple "${role}" roles in a row (${where})`,
      )
    const content = blocksOf(message.content, where)
    if (role === 'user') {
      checkResults(content, open, where)
      open = []
      content.forEach((block, n) => {
        checkUserBlock(block, `${where}.content.${n}`)
      })
    } else open = checkAssistant(content, where, ids, options)
  })
  if (open.length > 0)
    refuse(`\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(', ')}`)
  if (messages.length % 2 === 1) return
  if (options.mayEndWithAssistant !== true)
    refuse('This model does not support assistant message prefill. The conversation must end with a user message.')
  const end: unknown = (messages.at(-1) as { content: unknown[] }).content.at(-1)
  if (isObject(end) && /thinking$/.test(String(end.type)))
    refuse(`messages.${messages.length - 1}: The final block in an assistant message cannot be \`thinking\`.`)
  if (isObject(end) && end.type === 'text' && String(end.text) !== String(end.text).trimEnd())
    refuse('messages: final assistant content cannot end with trailing whitespace')
}

function blocksOf(content: unknown, where: string): Json[] {
  if (typeof content === 'string') {
    if (content.trim() === '') refuse(`${where}: text content blocks must contain non-whitespace text`)
    return []
  }
  if (!Array.isArray(content) || content.length === 0) refuse(`${where}: all messages must have non-empty content`)
  return content.map((block: unknown, n) =>
    isObject(block) ? block : refuse(`${where}.content.${n}: Input should be an object`),
  )
}

/** All results stand first, one for each open call, in call order. */
function checkResults(content: Json[], open: string[], where: string): void {
  const results = content.filter((block) => block.type === 'tool_result').map((block) => String(block.tool_use_id))
  for (const id of results) {
    if (!open.includes(id))
      refuse(
        `${where}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each must have a corresponding \`tool_use\` block in the previous message.`,
      )
  }
  if (new Set(results).size !== results.length)
    refuse(`${where}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with one id.`)
  const missing = open.filter((id) => !results.includes(id))
  if (missing.length > 0)
    refuse(
      `${where}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}`,
    )
  if (results.join('\n') !== open.join('\n'))
    refuse(`${where}: tool results are not in the order of the calls: ${results.join(', ')}`)
  if (content.slice(0, results.length).some((block) => block.type !== 'tool_result'))
    refuse(`${where}: tool results must come before any other content`)
}

function checkUserBlock(block: Json, where: string): void {
  switch (block.type) {
    case 'text':
      checkText(block, where)
      break
    case 'image':
      checkImage(block, where)
      break
    case 'tool_result':
      checkToolResult(block, where)
      break
    default:
      refuse(`${where}: Input tag '${String(block.type)}' is not allowed in a user message`)
  }
}

function checkToolResult(block: Json, where: string): void {
  onlyKeys(block, ['type', 'tool_use_id', 'content', 'is_error', 'cache_control'], where)
  const { content, is_error } = block
  if (is_error !== undefined && typeof is_error !== 'boolean') refuse(`${where}.is_error: Input should be a boolean`)
  if (content === undefined || typeof content === 'string') return
  if (!Array.isArray(content)) refuse(`${where}.content: Input should be a string or a list`)
  content.forEach((part: unknown, n) => {
    const at = `${where}.content.${n}`
    if (!isObject(part)) refuse(`${at}: Input should be an object`)
    if (part.type === 'text') checkText(part, at)
    else if (part.type === 'image') checkImage(part, at)
    else refuse(`${at}: Input tag '${String(part.type)}' is not allowed in a tool result`)
  })
}

function checkAssistant(content: Json[], where: string, ids: Set<string>, options: ValidateOptions): string[] {
  const calls: string[] = []
  content.forEach((block, n) => {
    const at = `${where}.content.${n}`
    switch (block.type) {
      case 'text':
        checkText(block, at)
        break
      case 'thinking':
        checkThinking(block, at, options)
        break
      case 'redacted_thinking':
        onlyKeys(block, ['type', 'data'], at)
        if (!isFilled(block.data)) refuse(`${at}.data: Field required`)
        break
      case 'tool_use':
        calls.push(checkCall(block, at, ids))
        break
      default:
        refuse(`${at}: Input tag '${String(block.type)}' is not allowed in an assistant message`)
    }
  })
  return calls
}

function checkCall(block: Json, where: string, ids: Set<string>): string {
  onlyKeys(block, ['type', 'id', 'name', 'input', 'cache_control'], where)
  const { id, name, input } = block
  if (typeof id !== 'string' || !ID.test(id)) refuse(`${where}.tool_use.id: String should match pattern ${ID.source}`)
  if (ids.has(id)) refuse('messages: `tool_use` ids must be unique')
  if (typeof name !== 'string' || !NAME.test(name))
    refuse(`${where}.tool_use.name: String should match pattern ${NAME.source}`)
  if (!isObject(input)) refuse(`${where}.tool_use.input: Input should be a valid dictionary`)
  ids.add(id)
  return id
}

function checkThinking(block: Json, where: string, options: ValidateOptions): void {
  onlyKeys(block, ['type', 'thinking', 'signature'], where)
  if (!isFilled(block.signature)) refuse(`${where}.thinking.signature: Field required`)
  if (typeof block.thinking !== 'string') refuse(`${where}.thinking.thinking: Field required`)
  if (block.thinking === '' && options.mayHaveEmptyThinking !== true)
    refuse(`${where}.thinking: each thinking block must contain thinking`)
}

function checkText(block: Json, where: string): void {
  onlyKeys(block, ['type', 'text', 'cache_control', 'citations'], where)
  if (typeof block.text !== 'string') refuse(`${where}.text: Input should be a string`)
  if (block.text === '') refuse(`${where}: text content blocks must be non-empty`)
  if (block.text.trim() === '') refuse(`${where}: text content blocks must contain non-whitespace text`)
}

function checkImage(block: Json, where: string): void {
  onlyKeys(block, ['type', 'source', 'cache_control'], where)
  const source = block.source
  if (!isObject(source) || source.type !== 'base64') refuse(`${where}.source: Input should be a base64 source`)
  if (!IMAGE_TYPES.has(String(source.media_type)))
    refuse(`${where}.source.media_type: Input should be ${[...IMAGE_TYPES].join(', ')}`)
  if (!isFilled(source.data) || !BASE64.test(String(source.data)))
    refuse(`${where}.source.data: image is not valid base64`)
}

function usesTools(messages: unknown): boolean {
  return (messages as Json[]).some(
    ({ content }) =>
      Array.isArray(content) && content.some((block: Json) => /^tool_(use|result)$/.test(String(block.type))),
  )
}

/** Marks on blocks, tools and inside results; the one at the top of the request counts too. Tool inputs hold none. */
function countMarks(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + countMarks(item), 0)
  if (!isObject(value)) return 0
  let sum = 0
  for (const [key, item] of Object.entries(value)) {
    if (key === 'cache_control' && item !== null) {
      if (!isObject(item) || item.type !== 'ephemeral') refuse("cache_control.type: Input should be 'ephemeral'")
      sum += 1
    } else if (key !== 'input' && key !== 'input_schema') sum += countMarks(item)
  }
  return sum
}

function checkSurrogates(value: unknown, where: string): void {
  if (typeof value === 'string') {
    if (LONE.test(value)) refuse(`The request body is not valid JSON: no low surrogate in string (${where})`)
  } else if (Array.isArray(value)) {
    value.forEach((item, n) => {
      checkSurrogates(item, `${where}.${n}`)
    })
  } else if (isObject(value)) {
    for (const [key, item] of Object.entries(value)) {
      checkSurrogates(key, where)
      checkSurrogates(item, `${where}.${key}`)
    }
  }
}

function onlyKeys(object: Json, allowed: string[], where: string): void {
  for (const key of Object.keys(object))
    if (!allowed.includes(key)) refuse(`${where}.${key}: Extra inputs are not permitted`)
}

function isFilled(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function isObject(value: unknown): value is Json {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
