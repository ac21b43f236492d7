// `npm run bench [-- background|binder|cost|http|commit|disk|forks|hot-row|import|journal|overload|postgres|rehearse|search|services|size|slices|start|x402] [--rounds N] [--seconds N]`: ratios, side by side with their rivals in one run.
import { parseArgs } from 'node:util'
import { backgroundFigures } from './background.mjs'
import { binderFigures } from './binder.mjs'
import { commitFigures } from './commit.mjs'
import { costFigures } from './cost.mjs'
import { diskFigures } from './disk.mjs'
import { forksFigures } from './forks.mjs'
import { hotRowFigures } from './hot-row.mjs'
import { httpFigures } from './http.mjs'
import { importFigures } from './import.mjs'
import { journalFigures } from './journal.mjs'
import { overloadFigures } from './overload.mjs'
import { postgresFigures } from './postgres.mjs'
import { rehearseFigures } from './rehearse.mjs'
import { servicesFigures } from './services.mjs'
import { sizeFigures } from './size.mjs'
import { searchFigures, slicesFigures } from './slices.mjs'
import { startFigures } from './start.mjs'
import { x402Figures } from './x402.mjs'

const parts = {
  background: backgroundFigures,
  binder: binderFigures,
  cost: costFigures,
  http: httpFigures,
  commit: commitFigures,
  disk: diskFigures,
  forks: forksFigures,
  'hot-row': hotRowFigures,
  import: importFigures,
  journal: journalFigures,
  overload: overloadFigures,
  postgres: postgresFigures,
  rehearse: rehearseFigures,
  services: servicesFigures,
  search: searchFigures,
  size: sizeFigures,
  slices: slicesFigures,
  start: startFigures,
  x402: x402Figures,
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '3' }, seconds: { type: 'string', default: '4' } },
})
const options = { rounds: Number(values.rounds), seconds: Number(values.seconds) }

for (const name of positionals.length > 0 ? positionals : Object.keys(parts))
  for (const { name: what, ratio, target, detail, isLoss } of await parts[name](options)) {
    process.stdout.write(`${ratio.toFixed(2).padStart(6)}  (aim ${target})  ${what}: ${detail}\n`)
    if (isLoss) process.exitCode = 1
  }
