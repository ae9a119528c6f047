import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'

const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')) as { version: string }
/** Set by .ci/run: where it reads the counts from. */
const report = process.env.TEST_REPORT

export default defineConfig({
  define: { __VERSION__: JSON.stringify(version) },
  test: {
    include: ['test/**/*.test.ts'],
    // Hundreds of tests run real processes, terminals and a browser, on whatever machine CI gives: one that fails there
    // must fail again to count. On a developer's machine nothing is forgiven.
    retry: process.env.CI ? 2 : 0,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
  },
})
