import { createService } from 'farthing'
import { handlers } from 'farthing/msw'
import { farthingTest } from 'farthing/vitest'
import { setupServer } from 'msw/node'

const server = setupServer(...handlers(createService()))
server.use(...handlers(createService()))
farthingTest({ msw: server })
