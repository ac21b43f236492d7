// Two services that share one database: what one of them stored, the other one reads.
import { createService } from 'farthing'
import { client } from 'farthing/client'
import { postgresStorage } from 'farthing/storage/postgres'
import { pay } from './pay.mjs'

const open = async () => createService({ storage: await postgresStorage({ url: process.argv[2] }), sandbox: true })
const [first, second] = [await open(), await open()]
console.log(await pay(first))
console.log(`kept ${(await client(second).ledger.audit()).movements}`)
await first.close()
await second.close()
