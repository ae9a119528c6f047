/**
 * Loaded into the agent before it starts (NODE_OPTIONS=--require): on SIGUSR2 collects garbage and appends a line of
 * what is left to the file SOAK_PROBE: memory in bytes, open files, and what keeps the event loop, by kind.
 */
const { appendFileSync, readdirSync } = require('node:fs')
const v8 = require('node:v8')
const { runInNewContext } = require('node:vm')

// Children that are Node must not do the same.
delete process.env.NODE_OPTIONS
const file = process.env.SOAK_PROBE
delete process.env.SOAK_PROBE
v8.setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')

process.on('SIGUSR2', () => {
  collect()
  collect()
  const { rss, heapUsed, external } = process.memoryUsage()
  const resources = {}
  for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1
  let files = 0
  try {
    files = readdirSync('/proc/self/fd').length
  } catch {}
  appendFileSync(file, `${JSON.stringify({ rss, heapUsed, external, files, resources })}\n`)
})
