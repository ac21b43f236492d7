// `npm run simulate -- --seeds 200`: runs the service in a simulated world, where everything fails that may.
// `--seed S` begins with that seed, and `--steps 3,17` runs only those steps of its plan, as a failure prints them.
import { parseArgs } from 'node:util'
import { startVitest } from 'vitest/node'

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '200' }, seed: { type: 'string' }, steps: { type: 'string' } },
})
for (const [name, value] of Object.entries(values)) process.env[`FARTHING_SIMULATOR_${name.toUpperCase()}`] = value
const vitest = await startVitest('test', ['test/simulator/simulator.test.ts'], { watch: false })
await vitest.close()
