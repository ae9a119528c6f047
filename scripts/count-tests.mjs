/**
 * Ends .ci/run: prints "N passed, N failed" from vitest's JSON report.
 *
 * usage: node scripts/count-tests.mjs <report> <exit code of the test command>
 * A test file that could not be loaded counts as one failure, and so does a test command that failed without a
 * failed test (the build, the type check, a crash).
 */
import { readFileSync } from 'node:fs'

const [file, code] = process.argv.slice(2)
const { passed, failed, skipped } = count(file)
const unexplained = Number(code) !== 0 && failed === 0
if (unexplained) console.log(`The test command ended with ${code} and no failed test: see above.`)
if (skipped > 0) console.log(`${skipped} skipped`)
const failures = failed + (unexplained ? 1 : 0)
console.log(`${passed} passed, ${failures} failed`)
process.exitCode = failures > 0 || passed === 0 ? 1 : 0

function count(path) {
  const text = readFileSync(path, 'utf8')
  if (text === '') return { passed: 0, failed: 0, skipped: 0 }
  const report = JSON.parse(text)
  const unloaded = report.testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  )
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + unloaded.length,
    skipped: report.numPendingTests + report.numTodoTests,
  }
}
