// A service in this process, with everything in memory.
import { createService } from 'farthing'
import { pay } from './pay.mjs'

const service = createService({ sandbox: true })
console.log(await pay(service))
await service.close()
