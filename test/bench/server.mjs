// One server for the benchmarks: `node server.mjs KIND [FILE]` says its address as a line of JSON, and ends with its parent.
import { createServer } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'

const [kind, file] = process.argv.slice(2)
const delay = monitorEventLoopDelay({ resolution: 5 })
delay.enable()
// What a parent may ask: see http.mjs.
process.on('message', (what) => {
  const { user, system } = process.cpuUsage()
  if (what === 'usage') return process.send(user + system)
  process.send(delay.percentile(99) / 1e6)
  delay.reset()
})

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

async function farthing(options = {}) {
  const { createService } = await import('farthing')
  const { serve } = await import('farthing/node')
  const { fileStorage } = await import('farthing/storage/file')
  const storage = file ? { storage: await fileStorage({ file }) } : {}
  return (await serve((baseUrl) => createService({ baseUrl, sandbox: true, ...storage, ...options }), { port: 0 })).url
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

/** `FILE` is the URL of a database here. */
async function farthingOnPostgres() {
  const { createService } = await import('farthing')
  const { serve } = await import('farthing/node')
  const { postgresStorage } = await import('farthing/storage/postgres')
  const storage = await postgresStorage({ url: file })
  return (await serve((baseUrl) => createService({ baseUrl, sandbox: true, storage }), { port: 0 })).url
}

const farthingWithoutJournal = () => farthing({ journal: false })

const kinds = {
  raw,
  farthing,
  'farthing-on-postgres': farthingOnPostgres,
  'farthing-without-journal': farthingWithoutJournal,
  'oidc-provider': oidcProvider,
}
const url = await kinds[kind]()
process.stdout.write(`${JSON.stringify({ url })}\n`)
process.on('disconnect', () => process.exit())
