import { startVitest } from 'vitest/node'

// `npm run test:all`: MSW and the service worker run the whole contract, not only a part of it.
process.env.FARTHING_TEST_ALL = '1'
const vitest = await startVitest('test', process.argv.slice(2), { watch: false })
await vitest.close()
