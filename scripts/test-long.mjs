import { parseArgs } from 'node:util'
import { startVitest } from 'vitest/node'

// `npm run test:long`: compares the service with its model in many random runs, or repeats the run that a failure printed.
// Then it runs the service as often in a simulated world, and sends it as many rows of hostile requests, also with the defects
// that the simulator and the fuzzer must find. At last it kills processes under load, for ten minutes each unless `--faults`
// names the seconds.
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '10000' },
    seed: { type: 'string' },
    path: { type: 'string' },
    replay: { type: 'string' },
    faults: { type: 'string', default: '600' },
  },
})
for (const [name, value] of Object.entries(values)) process.env[`FARTHING_${name.toUpperCase()}`] = value
const repeats = values.seed !== undefined || values.replay !== undefined
process.env.FARTHING_SIMULATOR_SEEDS = values.runs
process.env.FARTHING_SIMULATOR_PLANTED = 'all'
process.env.FARTHING_FUZZ_RUNS = values.runs
process.env.FARTHING_FUZZ_PLANTED = 'all'
const files = ['test/model/service.test.ts', ...(repeats ? [] : ['test/simulator/', 'test/fuzz/', 'test/faults'])]
const vitest = await startVitest('test', files, { watch: false })
await vitest.close()
