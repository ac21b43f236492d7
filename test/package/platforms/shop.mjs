// A service with a file storage, served over HTTP. It stops, and starts again with what it stored.
import { createService } from 'farthing'
import { client } from 'farthing/client'
import { serve } from 'farthing/node'
import { fileStorage } from 'farthing/storage/file'
import { pay } from './pay.mjs'

/** @param {(url: string) => Promise<string>} use */
async function withShop(use) {
  const storage = await fileStorage({ file: 'state/data.json' })
  /** @type {import('farthing').Service | undefined} */
  let service
  const served = await serve((baseUrl) => (service = createService({ storage, baseUrl, sandbox: true })), { port: 0 })
  console.log(await use(served.url))
  await served.close()
  await service?.close()
}

await withShop(pay)
await withShop(async (url) => `kept ${(await client(url).ledger.audit()).movements}`)
