import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { client } from 'farthing/client'

const hash = '00000000-0000-4000-8000-0000000000a1'

// #region unlock
/**
 * Sends the story for a payment that is valid. A nonce is valid once.
 * @param {import('farthing/client').Client} seller @param {string} proof
 */
async function unlock(seller, proof) {
  const { nonce, timestamp } = JSON.parse(proof)
  const { ok } = await seller.payments.validate.try(hash, { nonce, timestamp })
  return ok ? { status: 200, body: 'The whole story.' } : { status: 402, body: 'This payment is not valid.' }
}
// #endregion unlock

/**
 * The seller's site. `farthing exec` sets the variables of the environment, and the tests pass the same. Your deployment sets
 * them for the live service. Port 0 is a free one.
 * @param {Readonly<Record<string, string | undefined>>} environment
 */
export async function startShop(environment, port = 0) {
  const {
    FARTHING_URL = '',
    FARTHING_CLIENT_ID = '',
    FARTHING_CLIENT_SECRET = '',
    FARTHING_PUBLIC_SECRET = '',
  } = environment
  const seller = client(FARTHING_URL).as({ client_id: FARTHING_CLIENT_ID, client_secret: FARTHING_CLIENT_SECRET })
  const page = await readFile(new URL('page.html', import.meta.url), 'utf8')
  const values = { FARTHING_URL, FARTHING_PUBLIC_SECRET, HASH: hash }
  const html = page.replace(/\{(\w+)\}/g, (whole, name) => Object(values)[name] ?? whole)
  const server = createServer(async (request, response) => {
    if (request.url === '/') return response.setHeader('content-type', 'text/html; charset=utf-8').end(html)
    if (request.url !== '/unlock') return response.writeHead(404).end()
    const { status, body } = await unlock(seller, await text(request))
    return response.writeHead(status).end(body)
  })
  await once(server.listen(port, '127.0.0.1'), 'listening')
  const address = server.address()
  return { url: `http://localhost:${typeof address === 'object' && address?.port}/`, close: () => server.close() }
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  console.log(`The shop is open at ${(await startShop(process.env, 8000)).url}.`)
