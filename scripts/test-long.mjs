import { parseArgs } from 'node:util'
import { startVitest } from 'vitest/node'

// The service against its model, for as many runs as are asked for; or, by what a failure prints, its one run again.
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
