import { parseArgs } from 'node:util'
import { startVitest } from 'vitest/node'

// `npm run test:long`: compares the service with its model in many random runs, or repeats the run that a failure printed.
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '10000' },
    seed: { type: 'string' },
    path: { type: 'string' },
    replay: { type: 'string' },
  },
})
for (const [name, value] of Object.entries(values)) process.env[`FARTHING_${name.toUpperCase()}`] = value
const vitest = await startVitest('test', ['test/model/service.test.ts'], { watch: false })
await vitest.close()
