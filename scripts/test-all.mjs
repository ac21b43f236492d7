import { startVitest } from 'vitest/node'

// Every test on every runtime: those that hold a part of the contract hold the whole of it.
process.env.FARTHING_TEST_ALL = '1'
const vitest = await startVitest('test', process.argv.slice(2), { watch: false })
await vitest.close()
