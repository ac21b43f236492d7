import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { ACCEPT, CLIENT, messageIn, modern, send } from '../../support/mcp/mcp.js'
import { newItem } from '../../support/scenes/catalog.js'
import { expectProblem } from '../../support/scenes/market.js'
import { newAgent } from '../../support/scenes/oidc.js'
import { newSeller } from '../../support/scenes/world.js'

const metadataOf = (headers: Headers) => /resource_metadata="([^"]+)"/.exec(headers.get('www-authenticate') ?? '')?.[1]

contract('The MCP servers', (start) => {
  it('callMcp serves a command-line agent, message by message', { tags: 'everywhere' }, async () => {
    const {
      call,
      url,
      fetch,
      made: { accessToken: token },
    } = await startWith(start, newAgent)
    const hello = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: CLIENT }
    const begun = await send(call, { id: 1, method: 'initialize', params: hello }, { token })
    const { result } = messageIn(begun)
    expect(result).toMatchObject({ protocolVersion: '2025-03-26', serverInfo: { name: 'farthing' } })
    expect(result.instructions).toContain('catalog_search')
    const initialized = new Request(`${url}/mcp`, {
      method: 'POST',
      headers: { ...ACCEPT, authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }),
    })
    expect((await fetch(initialized)).status).toBe(202)
    const ask = async (id: number, method: string, params: object = {}) => {
      const headers = { 'mcp-protocol-version': '2025-03-26' }
      const answer = messageIn(await send(call, { id, method, params }, { token, headers }))
      expect(answer.id).toBe(id)
      return answer.result
    }
    expect((await ask(2, 'tools/list')).tools.map(({ name }: { name: string }) => name)).toContain('agent_checkout')
    expect((await ask(3, 'resources/list')).resources).toMatchObject([{ uri: 'farthing://catalog' }])
    expect((await ask(4, 'prompts/list')).prompts).toHaveLength(2)
    const called = await ask(5, 'tools/call', { name: 'agent_wallet_info', arguments: {} })
    expect(JSON.parse(called.content[0].text)).toEqual(called.structuredContent)
    expect(called.structuredContent.balances).toMatchObject([{ shortcode: 'USD', amount: 0 }])
  })

  it('callAccountMcp streams changes of the list to listeners until they stop', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const { call, url, fetch, made: seller } = await startWith(start, newSeller)
    const { accessToken } = await newAgent(call)
    const path = `/mcp/${seller.id}`
    const discover = modern('server/discover')
    const known = await send(call, discover.message, { path, token: accessToken, headers: discover.headers })
    expect(known.headers.get('content-type')).toBe('application/json')
    expect(known.body.result).toMatchObject({ capabilities: { tools: { listChanged: true } } })

    const { headers, message } = modern('subscriptions/listen', { notifications: { toolsListChanged: true } })
    const answer = await fetch(
      new Request(url + path, {
        method: 'POST',
        headers: { ...ACCEPT, ...headers, authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      }),
    )
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
    let heard = ''
    const hear = async (method: string) => {
      while (!heard.includes(method)) heard += new TextDecoder().decode((await reader.read()).value)
    }
    await hear('notifications/subscriptions/acknowledged')
    await newItem(call, seller, { featured: true })
    await hear('notifications/tools/list_changed')
    // Not waited for: MSW keeps a copy of the stream, and a cancel of one waits for the other's.
    void reader.cancel()
  })

  it('say where to get a token: 401 names the metadata of the same server', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    for (const path of ['/mcp', `/mcp/${seller.id}`]) {
      const ping = { id: 1, method: 'ping' }
      const missing = await send(call, ping, { path })
      expectProblem(missing, 401, 'authorization_missing')
      expect(missing.headers.get('www-authenticate')).not.toContain('error=')
      const way = 'Send the Bearer access token of an app that a user connected.'
      expect(missing.body.error).toBe(`Credentials are missing. ${way}`)
      const wrong = await send(call, ping, { path, token: seller.token })
      expectProblem(wrong, 401, 'agent_token_required')
      expect(wrong.headers.get('www-authenticate')).toContain('error="invalid_token"')
      for (const { headers } of [missing, wrong]) expect(headers.get('www-authenticate')).not.toContain('scope=')
      const metadata = new URL(metadataOf(wrong.headers) as string)
      expect(metadataOf(missing.headers)).toBe(metadata.href)
      const at = metadata.pathname.slice(metadata.pathname.indexOf('/.well-known'))
      const { status, body, headers } = await call('GET', at, { headers: { origin: 'https://agent.example.test' } })
      expect([status, headers.get('access-control-allow-origin')]).toEqual([200, 'https://agent.example.test'])
      expect(new URL(body.resource).pathname.endsWith(path)).toBe(true)
      const [issuer] = body.authorization_servers
      expect(issuer.endsWith('/v4/oidc')).toBe(true)
      expect((await call('GET', '/v4/oidc/.well-known/openid-configuration')).body.issuer).toBe(issuer)
    }
    const { body } = await call('GET', '/.well-known/oauth-protected-resource')
    expect(body.bearer_methods_supported).toEqual(['header'])
  })

  it('take tokens for the interface and tokens for themselves, and no others', async () => {
    const { call } = await start()
    const [one, other] = [await newSeller(call), await newSeller(call)]
    const places = ['/mcp', `/mcp/${one.id}`, `/mcp/${other.id}`, '/v4/agent/account']
    const base = (await call('GET', '/.well-known/oauth-protected-resource')).body.resource
    const reachedBy = async (token: string) => {
      const reached = []
      for (const path of places) {
        const isServer = path.startsWith('/mcp')
        const answer = await (isServer
          ? send(call, { id: 1, method: 'ping' }, { path, token })
          : call('GET', path, { token }))
        if (answer.status === 200) reached.push(path)
        else {
          expectProblem(answer, 401, 'token_invalid')
          expect(answer.body.error).toMatch(/only valid for http\S+\/mcp(\/\d+)?\. Request one at \/v4\/oidc\/auth/)
        }
      }
      return reached
    }
    expect(await reachedBy((await newAgent(call)).accessToken)).toEqual(places)
    for (const path of ['/mcp', `/mcp/${one.id}`])
      expect(await reachedBy((await newAgent(call, { resource: base + path })).accessToken)).toEqual([path])
  })

  it('take agents with the wallet scope, or whose app requested no scope', async () => {
    const {
      call,
      made: { id },
    } = await startWith(start, newSeller)
    const tokenOf = async (scope: string | undefined) => (await newAgent(call, { scope })).accessToken
    const [alone, unnamed] = [await tokenOf('twin'), await tokenOf(undefined)]
    const login = await tokenOf('openid profile email offline_access')
    for (const path of ['/mcp', `/mcp/${id}`]) {
      const ping = (token: string) => send(call, { id: 1, method: 'ping' }, { path, token })
      expect((await ping(alone)).status).toBe(200)
      expect((await ping(unnamed)).status).toBe(200)
      const refused = await ping(login)
      expectProblem(refused, 403, 'insufficient_scope')
      expect(metadataOf(refused.headers)).toMatch(new RegExp(`/\\.well-known/oauth-protected-resource${path}$`))
    }
  })

  it('take calls only from their own pages, pages of this machine and pages of the app: 403 origin_refused', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const { accessToken: token } = await newAgent(call)
    const ping = { id: 1, method: 'ping' }
    for (const path of ['/mcp', `/mcp/${seller.id}`]) {
      const from = (origin: string) => send(call, ping, { path, token, headers: { origin } })
      for (const foreign of ['https://evil.example.test', 'https://127.0.0.1.evil.example.test', 'null'])
        expectProblem(await from(foreign), 403, 'origin_refused')
      for (const known of ['https://app.example.test', 'http://localhost:6274'])
        expect((await from(known)).status, known).toBe(200)
    }
  })

  it('have no streams to read and no sessions to delete: 405', { tags: 'everywhere' }, async () => {
    const {
      call,
      made: { accessToken: token },
    } = await startWith(start, newAgent)
    for (const method of ['GET', 'DELETE']) {
      const answer = await call(method, '/mcp', { token, headers: ACCEPT })
      expectProblem(answer, 405, 'method_not_allowed')
      expect(answer.headers.get('allow')).toBe('POST, OPTIONS')
    }
    expectProblem(await send(call, { id: 1, method: 'ping' }, { path: '/mcp/999999', token }), 404, 'not_found')
  })
})
