import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { client } from '../../adapters/client.js'
import { requests } from '../../sandbox/commands/journal.js'
import { runningService } from '../../sandbox/commands/running-service.js'
import { findControlToken, writeRunFile } from '../../sandbox/run-file.js'
import { routeList } from '../../scripts/route-table.js'
import { createService, type ServiceOptions } from '../../src/index.js'

/** Who is on this machine, as far as a sandbox can tell. */

const TOKEN = 'a-token-of-twenty-four-1'
/** The form of an id of the journal. */
const ENTRY = 'req_1'
const PEER = { peerAddress: '127.0.0.1' }

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

function sandbox(options: ServiceOptions = {}) {
  const service = createService({ sandbox: true, controlToken: TOKEN, log: { error: () => {} }, ...options })
  closing.push(() => service.close())
  return service
}

const controls = routeList.filter(({ scope, isOpen }) => scope === 'sandbox' && !isOpen)

/** Status and code of a control, to a caller whose connection comes from this machine. */
async function asked(
  service: ReturnType<typeof sandbox>,
  url: string,
  { method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): Promise<string> {
  const answer = await service.respond(new Request(url, { method, headers }), PEER)
  return answer.ok ? 'ok' : ((await answer.json()) as { code: string }).code
}

describe('behind a tunnel that adds no header,', () => {
  const publicNames: [string, ServiceOptions][] = [
    ['the base URL', { baseUrl: 'https://pay.example.test' }],
    ['the base URL with a path', { baseUrl: 'http://sandbox:4242/pay' }],
    ['an allowed host', { allowHosts: ['pay.example.test'] }],
    ['an allowed host with a port', { allowHosts: ['localhost', 'sandbox:4242'] }],
    ['an address', { allowHosts: ['10.0.0.7'] }],
  ]

  it.each(publicNames)('every control needs the token once %s is not a name of this machine', async (_, options) => {
    const service = sandbox(options)
    const path = new URL(service.baseUrl).pathname.replace(/\/$/, '')
    // Whoever comes through the tunnel chooses the Host.
    for (const host of ['127.0.0.1:4242', 'localhost', '[::1]:4242', 'pay.localhost', new URL(service.baseUrl).host])
      for (const { method, path: of } of controls) {
        const url = `http://${host}${path}${of.replace(/:\w+/g, '1')}`
        const answer = await service.respond(new Request(url, { method }), PEER)
        expect([method, url, answer.status]).toEqual([method, url, 403])
        expect(((await answer.json()) as { code: string }).code).toMatch(/^(sandbox_refused|host_refused)$/)
      }
    const clock = `http://127.0.0.1:4242${path}/_sandbox/clock`
    expect(await asked(service, clock)).toBe('sandbox_refused')
    expect(await asked(service, clock, { headers: { 'x-control-token': TOKEN } })).toBe('ok')
    expect(await asked(service, clock, { headers: { 'x-control-token': 'wrong' } })).toBe('sandbox_refused')
    expect((await service.respond(new Request(`http://127.0.0.1:4242${path}/_sandbox/health`), PEER)).status).toBe(200)
  })

  it.each<[string, ServiceOptions]>([
    ['no other name', {}],
    ['names of this machine', { baseUrl: 'http://pay.localhost:4242', allowHosts: ['localhost:99', '127.0.0.1'] }],
  ])('a sandbox with %s answers this machine', async (_, options) => {
    expect(await asked(sandbox(options), 'http://127.0.0.1:4242/_sandbox/clock')).toBe('ok')
  })

  it('calls in the same process need no token: they come from no network', async () => {
    const service = sandbox({ baseUrl: 'https://pay.example.test' })
    expect((await service.fetch(new Request('https://pay.example.test/_sandbox/clock'))).status).toBe(200)
  })
})

const forwarded = [
  ...['Forwarded', 'Via', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'X-Forwarded', 'X-Real-IP'],
  ...['CF-Connecting-IP', 'CF-Connecting-IPv6', 'CF-Pseudo-IPv4', 'CF-Ray', 'CF-Visitor', 'CDN-Loop', 'True-Client-IP'],
  ...['X-Client-IP', 'X-Cluster-Client-IP', 'Fastly-Client-IP', 'Fly-Client-IP', 'Fly-Forwarded-Port', 'Client-IP'],
  ...['X-Original-Forwarded-For', 'X-Original-Host', 'X-Original-URL', 'X-Original-Remote-Addr', 'X-Remote-IP'],
  ...['X-Remote-Addr', 'Remote-Addr', 'X-Azure-ClientIP', 'X-Azure-SocketIP', 'X-Appengine-User-IP'],
  ...['X-Envoy-External-Address', 'X-ProxyUser-IP', 'Proxy-Client-IP', 'WL-Proxy-Client-IP', 'DO-Connecting-IP'],
  ...['X-NF-Client-Connection-IP', 'X-Vercel-Forwarded-For', 'Ali-CDN-Real-IP', 'Incap-Client-IP', 'X-Sucuri-ClientIP'],
  ...['Tailscale-User-Login', 'X-Amz-CF-Id', 'X-Host', 'X-Some-New-Proxy-Client-IP'],
]
const ordinary = [
  ...['Accept', 'Accept-Language', 'User-Agent', 'Referer', 'X-Request-ID', 'Traceparent', 'X-Session-ID'],
  ...['Idempotency-Key', 'X-Device-Token', 'X-Sandbox-Fault', 'X-Requested-With', 'X-Skip', 'X-Trip'],
]

describe('a header by which a proxy names its client', () => {
  it.each(forwarded)('makes nobody local: %s', async (name) => {
    const url = 'http://127.0.0.1:4242/_sandbox/clock'
    expect(await asked(sandbox(), url, { headers: { [name]: '127.0.0.1' } })).toBe('sandbox_refused')
  })

  it.each(ordinary)('is not %s', async (name) => {
    const url = 'http://127.0.0.1:4242/_sandbox/clock'
    expect(await asked(sandbox(), url, { headers: { [name]: 'ms_1' } })).toBe('ok')
  })
})

describe('the control token after a redirect', () => {
  /** A server that redirects everything to another, which notes what it gets. */
  async function redirecting(): Promise<{ url: string; got: unknown[] }> {
    const got: unknown[] = []
    const other = await listening((req, res) => {
      got.push(req.headers)
      res.end('{}')
    })
    const url = await listening((req, res) => res.writeHead(307, { location: other + (req.url ?? '') }).end())
    return { url, got }
  }

  async function listening(handler: Parameters<typeof createServer>[1]): Promise<string> {
    const server = createServer(handler)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closing.push(
      () => new Promise((resolve) => server.close(resolve)),
      () => server.closeAllConnections(),
    )
    return `http://localhost:${(server.address() as AddressInfo).port}`
  }

  it('is not sent by the typed client, nor is anything else', async () => {
    const { url, got } = await redirecting()
    const service = client(url, { controlToken: TOKEN, retries: 0 })
    await expect(service.sandbox.reset()).rejects.toThrow(/redirects to http:\/\/localhost:\d+\/_sandbox\/reset/)
    await expect(service.requests.list({ limit: 1 })).rejects.toThrow(/No redirect is followed/)
    expect(got).toEqual([])
  })

  it.each([{}, { as: 'curl' as const }])('is not sent by a command: farthing requests %o', async (flags) => {
    const { url, got } = await redirecting()
    const outside = { fetch, environment: {}, print: () => {}, printText: () => {} }
    const asking = requests(ENTRY, { url, controlToken: TOKEN, ...flags }, outside, new AbortController().signal)
    await expect(asking).rejects.toThrow(/redirects to/)
    expect(got).toEqual([])
  })
})

describe('the commands of the same user', () => {
  async function runtimeFolder(): Promise<Record<string, string>> {
    const folder = await mkdtemp(join(tmpdir(), 'farthing-run-'))
    closing.push(() => rm(folder, { recursive: true }))
    return { XDG_RUNTIME_DIR: folder }
  }

  const running = {
    url: 'https://pay.example.test/pay',
    address: 'http://127.0.0.1:4242',
    controlToken: TOKEN,
    directory: '/shop',
  }

  it('find the token of a sandbox on this machine, by its address or its base URL', async () => {
    const environment = await runtimeFolder()
    const remove = await writeRunFile(running, environment)
    for (const url of ['http://127.0.0.1:4242', 'http://localhost:4242/', 'https://pay.example.test/pay'])
      expect(runningService({ url }, { fetch, environment }).controlToken).toBe(TOKEN)
    expect(runningService({ controlToken: 'own' }, { fetch, environment }).controlToken).toBe('own')
    await remove()
    expect(findControlToken('http://127.0.0.1:4242', environment)).toBeUndefined()
  })

  it('send it nowhere else', async () => {
    const environment = await runtimeFolder()
    await writeRunFile(running, environment)
    for (const url of [
      ...['http://127.0.0.1:4243', 'https://127.0.0.1:4242', 'http://evil.example.test:4242', 'http://10.0.0.7:4242'],
      ...['https://pay.example.test', 'https://pay.example.test/payments', 'http://pay.example.test/pay'],
      ...['https://pay.example.test.evil.example.test/pay', 'https://pay.example.test@evil.example.test/pay'],
    ])
      expect(findControlToken(url, environment), url).toBeUndefined()
  })

  it('are the only ones who can read it', async () => {
    const environment = await runtimeFolder()
    await writeRunFile(running, environment)
    const folder = join(environment.XDG_RUNTIME_DIR as string, 'farthing')
    expect(await readdir(folder)).toEqual(['4242.json'])
    expect((await stat(join(folder, '4242.json'))).mode & 0o777).toBe(0o600)
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
  })
})
