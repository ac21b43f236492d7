// `npm run bench [-- http|commit|hot-row|services|start] [--rounds N] [--seconds N]`: ratios, side by side with their rivals in one run.
import { parseArgs } from 'node:util'
import { commitFigures } from './commit.mjs'
import { hotRowFigures } from './hot-row.mjs'
import { httpFigures } from './http.mjs'
import { servicesFigures } from './services.mjs'
import { startFigures } from './start.mjs'

const parts = {
  http: httpFigures,
  commit: commitFigures,
  'hot-row': hotRowFigures,
  services: servicesFigures,
  start: startFigures,
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '3' }, seconds: { type: 'string', default: '4' } },
})
const options = { rounds: Number(values.rounds), seconds: Number(values.seconds) }

for (const name of positionals.length > 0 ? positionals : Object.keys(parts))
  for (const { name: what, ratio, target, detail } of await parts[name](options))
    process.stdout.write(`${ratio.toFixed(2).padStart(6)}  (aim ${target})  ${what}: ${detail}\n`)
