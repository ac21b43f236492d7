// `node scripts/failed-tests.mjs REPORT OUTPUT`: the failed tests of a JSON report of Vitest, each with the start of its
// error. Where no test failed, the end of what the run printed says what did.

import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

/** How many lines of the output hold what a run says after its tests. */
const END_LINES = 60

const [, , report = '', output = ''] = process.argv
const failures = failuresIn(report)
const said = failures.length > 0 ? failures : readFileSync(output, 'utf8').split('\n').slice(-END_LINES)
console.log(said.join('\n'))

/**
 * @param {string} path A report that was not written holds none.
 * @returns {string[]}
 */
function failuresIn(path) {
  /** @type {{ name: string, message: string, assertionResults: { status: string, fullName: string, failureMessages: string[] }[] }[]} */
  const files = readReport(path).testResults
  return files.flatMap(({ name, message, assertionResults }) => {
    const failed = assertionResults.filter(({ status }) => status === 'failed')
    if (failed.length === 0) return message ? [`${relative('', name)}\n  ${startOf(message)}`] : []
    return failed.map(
      ({ fullName, failureMessages }) => `${relative('', name)}: ${fullName}\n  ${startOf(failureMessages.join('\n'))}`,
    )
  })
}

/** @param {string} path */
function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return { testResults: [] }
  }
}

/** @param {string} message */
function startOf(message) {
  return message.split('\n').slice(0, 6).join('\n  ')
}
