// `npm run interop`: records requests and their answers for clients in other languages, into dist/interop.
import { startVitest } from 'vitest/node'

process.env.FARTHING_WRITE_INTEROP = '1'
const vitest = await startVitest('test', ['test/http/interop.test.ts'], { watch: false })
await vitest.close()
