// How long a rehearsal of 60 runs takes, for each of the planted bugs of test/sandbox/rehearse/.
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const AIM_SECONDS = 60

/** The slowest of the planted bugs, which the tests find and name. */
export async function rehearseFigures() {
  const report = join(tmpdir(), `farthing-rehearse-${process.pid}.json`)
  const args = ['vitest', 'run', 'test/sandbox/rehearse/rehearse.test.ts', '-t', 'finds and names']
  const { status } = spawnSync('npx', [...args, '--reporter=json', `--outputFile=${report}`], { stdio: 'ignore' })
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
  rmSync(report)
  const bugs = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter((each) => each.status !== 'skipped')
  const found = bugs.filter((each) => each.status === 'passed')
  const seconds = bugs.map(({ duration }) => duration / 1000)
  const slowest = Math.max(...seconds)
  const all = seconds.reduce((sum, each) => sum + each, 0)
  return [
    {
      name: 'seconds to find and name a planted bug',
      ratio: slowest,
      target: `<= ${AIM_SECONDS}`,
      detail: `the slowest of ${bugs.length}, of which ${found.length} are named right, all in ${all.toFixed(1)} s`,
      isLoss: slowest > AIM_SECONDS || status !== 0,
    },
  ]
}
