import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { UpstreamRequest } from '../../src/base/ports.js'
import { type Host, startHost } from '../support/browser/host.js'
import { UserAgent } from '../support/browser/user-agent.js'
import { expectOAuthError, VERIFIER } from '../support/scenes/oidc.js'
import { RelyingParty, RP_CALLBACK } from '../support/scenes/relying-party.js'

/** Clients whose id is the address of their metadata (OAuth Client ID Metadata Document). */

const ID = 'https://agent.example.test/client.json'
const DOCUMENT = {
  client_id: ID,
  client_name: 'Errand Runner',
  redirect_uris: [RP_CALLBACK, 'http://127.0.0.1/callback'],
  token_endpoint_auth_method: 'none',
}
const json = { headers: { 'content-type': 'application/json' } }

let host: Host
let rp: RelyingParty
const fetched: UpstreamRequest[] = []
let answer: (request: UpstreamRequest) => Response

beforeAll(async () => {
  const upstream = {
    fetch: async (request: UpstreamRequest) => {
      fetched.push(request)
      return answer(request)
    },
  }
  host = await startHost({ upstream })
  rp = new RelyingParty(host)
})
beforeEach(async () => {
  await host.call('POST', '/_sandbox/reset')
  fetched.length = 0
  answer = () => Response.json(DOCUMENT)
})
afterAll(() => host.close())

const open = (id: string, parameters: Record<string, string | undefined> = {}) =>
  rp.fetch(`/auth${rp.address({ id }, parameters).search}`)
const stored = async () => (await host.service.sandbox.snapshot()).rows.oidc_clients ?? []
const tokens = (form: Record<string, string>) =>
  host.call('POST', '/v4/oidc/token', { form: { client_id: ID, ...form } })

describe('a client whose id is the address of a document', () => {
  it('signs in without registration, and its user sees the host of the document', async () => {
    const resource = `${host.url}/mcp`
    const browser = new UserAgent(host)
    await browser.open(rp.address({ id: ID }, { resource, scope: 'openid twin offline_access' }))
    expect(browser.html).toMatch(
      /To connect <bdi>“Errand Runner”<\/bdi> of <strong class="host" dir="ltr">agent\.example\.test<\/strong>, at rp\.example\.test/,
    )
    await browser.signIn()
    const back = (await browser.press('allow')) as URL
    const grant = { grant_type: 'authorization_code', redirect_uri: RP_CALLBACK, code_verifier: VERIFIER }
    const { status, body } = await tokens({ ...grant, code: rp.codeIn(back) })
    expect(status).toBe(200)
    const refreshed = await tokens({ grant_type: 'refresh_token', refresh_token: body.refresh_token })
    expect(refreshed.status).toBe(200)
    expect(fetched.map(({ url, method, body }) => [url, method, body])).toEqual([[ID, 'GET', null]])
  })

  it('listens on any port of this computer, as the document says', async () => {
    expect((await open(ID, { redirect_uri: 'http://127.0.0.1:33418/callback' })).status).toBe(303)
  })

  it('is fetched once an hour, and then is what its document says', async () => {
    await open(ID)
    await host.service.sandbox.advance('59m')
    expect([(await open(ID)).status, fetched.length]).toEqual([303, 1])
    answer = () => Response.json({ ...DOCUMENT, redirect_uris: ['https://other.example.test/callback'] })
    await host.service.sandbox.advance('1m')
    expect([(await open(ID)).status, fetched.length]).toEqual([400, 2])
    expect(await stored()).toHaveLength(1)
  })

  it('is not what its document was, once the document is gone', async () => {
    await open(ID)
    await host.service.sandbox.advance('1h')
    answer = () => new Response(null, { status: 404 })
    expect((await open(ID)).body.error_description).toContain('Its address answers 404.')
  })

  it('leaves out what this service does not support', async () => {
    const more = {
      ...{ redirect_uris: ['myapp:/callback', RP_CALLBACK], scope: 'openid mcp:tools', extra: { deep: [1] } },
      grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
      ...{ response_types: ['code', 'token'], post_logout_redirect_uris: ['javascript:x', RP_CALLBACK] },
      ...{
        jwks: { keys: [{ kty: 'oct', k: 'x' }] },
        jwks_uri: 'ftp://x',
        logo_uri: 'https://agent.example.test/a.png',
      },
    }
    answer = () => Response.json({ ...DOCUMENT, ...more }, { headers: { 'content-type': 'application/cimd+json' } })
    expect((await open(ID)).status).toBe(303)
    const [client] = await stored()
    expect(client).toMatchObject({
      metadata: {
        ...{ redirect_uris: [RP_CALLBACK], scope: 'openid', response_types: ['code'] },
        ...{ grant_types: ['authorization_code', 'refresh_token'], post_logout_redirect_uris: [RP_CALLBACK] },
      },
    })
    expect(fetched[0]?.headers).toMatchObject({ accept: 'application/json' })
    expect(JSON.stringify(client)).not.toMatch(/jwks|logo_uri|deep/)
  })
})

describe('a client of a document', () => {
  it('lasts while a user has it connected, however often its document is fetched, and else for 30 days', async () => {
    const connected = async () => {
      const browser = new UserAgent(host)
      await browser.open(rp.address({ id: ID }))
      await browser.signIn()
      return (await browser.press('allow')) as URL
    }
    expect(rp.codeIn(await connected())).toBeTruthy()
    const createdAt = async () => (await stored()).map((row) => 'created_at' in row && row.created_at)
    const before = await createdAt()
    await host.service.sandbox.advance('2h')
    await open(ID)
    expect(fetched).toHaveLength(2)
    expect(await stored()).toMatchObject([{ unused_since: null }])
    expect(await createdAt()).toEqual(before)
    const other = 'https://agent.example.test/other.json'
    answer = () => Response.json({ ...DOCUMENT, client_id: other })
    await open(other)
    expect(await stored()).toHaveLength(2)
    await host.service.sandbox.advance('31d')
    expect((await stored()).map(({ id }) => id)).toEqual([ID])
  })
})

describe('a document is refused', () => {
  it.each<[string, () => Response]>([
    ['of another id', () => Response.json({ ...DOCUMENT, client_id: 'https://agent.example.test/other.json' })],
    ['without an id', () => Response.json({ ...DOCUMENT, client_id: undefined })],
    ['with a secret', () => Response.json({ ...DOCUMENT, client_secret: 'mc_0' })],
    ['of a confidential client', () => Response.json({ ...DOCUMENT, token_endpoint_auth_method: 'private_key_jwt' })],
    ['without a redirect URI that is allowed', () => Response.json({ ...DOCUMENT, redirect_uris: ['javascript:x'] })],
    ['with a name in two lines', () => Response.json({ ...DOCUMENT, client_name: 'A\nB' })],
    ['with a list that is none', () => Response.json({ ...DOCUMENT, redirect_uris: RP_CALLBACK })],
    ['that is a list', () => Response.json([DOCUMENT])],
    ['that is null', () => Response.json(null)],
    [
      'of a type that only ends like JSON',
      () => new Response(JSON.stringify(DOCUMENT), { headers: { 'content-type': 'text/application/json' } }),
    ],
    [
      'of a type that only begins like JSON',
      () => new Response(JSON.stringify(DOCUMENT), { headers: { 'content-type': 'application/jsonx' } }),
    ],
    ['that is no JSON', () => new Response('{', json)],
    ['that is no UTF-8', () => new Response(new Uint8Array([34, 255, 34]), json)],
    [
      'that someone uploaded as a page',
      () => new Response(JSON.stringify(DOCUMENT), { headers: { 'content-type': 'text/html' } }),
    ],
    [
      'behind a redirect',
      () => new Response(null, { status: 302, headers: { location: 'https://evil.example.test/' } }),
    ],
    ['that is longer than 32 KiB', () => Response.json({ ...DOCUMENT, extra: 'x'.repeat(33_000) })],
    ['of a status other than 200', () => Response.json(DOCUMENT, { status: 203 })],
  ])('%s', async (_, answered) => {
    answer = answered
    const { status, body } = await open(ID)
    expect([status, body.error]).toEqual([400, 'invalid_request'])
    expect(body.error_description).toContain('The document at `client_id` cannot be used.')
    expect(await stored()).toEqual([])
  })
})

describe('nothing is fetched', () => {
  it.each([
    'http://agent.example.test/client.json',
    'https://agent.example.test',
    'https://agent.example.test/',
    'https://agent.example.test/a/../client.json',
    'https://agent.example.test/%2e%2e/client.json',
    'https://AGENT.example.test/client.json',
    'https://user@agent.example.test/client.json',
    'https://agent.example.test/client.json#x',
    'https://agent.example.test\\@evil.example.test/client.json',
    `https://agent.example.test/${'x'.repeat(1024)}`,
    ' https://agent.example.test/client.json',
    'javascript:https://agent.example.test/client.json',
  ])('for the id %s', async (id) => {
    const { status, body } = await open(id)
    expect([status, body.error, fetched]).toEqual([400, 'invalid_request', []])
  })

  it.each([
    'https://169.254.169.254/client.json',
    'https://metadata.google.internal/client.json',
    'https://10.0.0.1/c',
  ])('from the private address %s', async (id) => {
    const { status, body } = await open(id)
    expect([status, body.error, fetched]).toEqual([400, 'invalid_request', []])
  })

  it('for a request that came through many services', async () => {
    const via = Array.from({ length: 3 }, () => '1.1 farthing').join(', ')
    const { status } = await rp.fetch(`/auth${rp.address({ id: ID }).search}`, { headers: { via } })
    expect([status, fetched]).toEqual([400, []])
  })
})

describe('a stranger', () => {
  it('has a host called twenty times in a minute, and keeps nobody from signing in with an app of that host', async () => {
    await open(ID)
    await host.service.sandbox.advance('1h')
    const statuses = []
    for (let i = 0; i < 21; i++) statuses.push((await open(`https://agent.example.test/${i}`)).status)
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 400), 429])
    expect([(await open(ID)).status, fetched.length]).toEqual([303, 21])
    await host.service.sandbox.advance('1m')
    await open(ID)
    expect(fetched).toHaveLength(22)
  })

  it('cannot do without PKCE, nor bring a secret', async () => {
    const browser = new UserAgent(host)
    await browser.open(rp.address({ id: ID }, { code_challenge: undefined, code_challenge_method: undefined }))
    expect(browser.onward.searchParams.get('error')).toBe('invalid_request')
    expectOAuthError(
      await tokens({ grant_type: 'refresh_token', refresh_token: 'x', client_secret: 'x' }),
      401,
      'invalid_client',
    )
  })

  it('cannot manage it', async () => {
    await open(ID)
    const { status } = await host.call('GET', `/v4/oidc/reg/${encodeURIComponent(ID)}`, { token: '' })
    expect(status).not.toBe(200)
  })
})
