// One server for the benchmarks: `node server.mjs KIND [FILE]` says its address as a line of JSON, and ends with its parent.
import { createServer } from 'node:http'

const [kind, file] = process.argv.slice(2)

const listen = (handler) =>
  new Promise((resolve) => {
    const server = createServer(handler).listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${server.address().port}`),
    )
  })

/** The least that takes and answers JSON: what everything is compared with. */
const raw = () =>
  listen((req, res) => {
    const answer = (body) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
      res.end(body)
    }
    if (req.method === 'GET')
      return answer(JSON.stringify({ id: 1, hostname: 'twin.example.test', key: null, balances: {} }))
    const chunks = []
    req.on('data', (chunk) => chunks.push(chunk))
    req.on('end', () => answer(JSON.stringify({ received: JSON.parse(Buffer.concat(chunks).toString() || '{}') })))
  })

async function farthing() {
  const { createService } = await import('farthing')
  const { serve } = await import('farthing/node')
  const { fileStorage } = await import('farthing/storage/file')
  const storage = file ? { storage: await fileStorage({ file }) } : {}
  return (await serve((baseUrl) => createService({ baseUrl, sandbox: true, ...storage }), { port: 0 })).url
}

/** oidc-provider with one client that gets tokens by its own credentials, as its documentation sets it up. */
async function oidcProvider() {
  const { default: Provider } = await import('oidc-provider')
  const client = { client_id: 'bench', client_secret: 'bench-secret', redirect_uris: [], response_types: [] }
  const provider = new Provider('http://127.0.0.1', {
    clients: [{ ...client, grant_types: ['client_credentials'] }],
    features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
  })
  return listen(provider.callback())
}

const url = await { raw, farthing, 'oidc-provider': oidcProvider }[kind]()
process.stdout.write(`${JSON.stringify({ url })}\n`)
process.on('disconnect', () => process.exit())
