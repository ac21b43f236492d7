import { expect, onTestFinished, test } from 'vitest'
import { createService, type ServiceOptions } from '../../src/index.js'

async function start(options: ServiceOptions = {}) {
  const service = createService({ sandbox: true, ...options })
  onTestFinished(() => service.close())
  const answer = async (path: string, init: RequestInit = {}) => {
    const response = await service.fetch(path, init)
    return { status: response.status, ...(await response.json()) }
  }
  return { service, answer }
}

const bearer = (token: string, scheme = 'Bearer') => ({ headers: { authorization: `${scheme} ${token}` } })

test('an unknown path names the base URL', async () => {
  const { answer } = await start({ baseUrl: 'https://pay.example.test/money' })
  for (const path of ['/nothing', '/v4/nothing', '/shop/v4/nothing', '/v4', '/'])
    expect(await answer(path)).toMatchObject({
      status: 404,
      error: 'No operation has this path. The base URL is https://pay.example.test/money.',
    })
})

test.each([
  ['http://localhost:4242', '/pay/v4/dq', '/pay', '/v4/dq', 'http://localhost:4242/pay'],
  ['http://localhost:4242/pay', '/api/v4/twin/x', '/api', '/v4/twin/x', 'http://localhost:4242/api'],
  ['http://localhost:4242', '/a/b/v2/account/', '/a/b', '/v2/account/', 'http://localhost:4242/a/b'],
  ['http://localhost:4242', '/pay/_sandbox/clock', '/pay', '/_sandbox/clock', 'http://localhost:4242/pay'],
])('a service at %s that is called at %s shows both', async (baseUrl, path, prefix, rest, mounted) => {
  const { answer } = await start({ baseUrl })
  const { error, code } = await answer(path)
  expect([code, error]).toEqual([
    'no_such_path',
    `No operation has this path. The path begins with ${prefix}, but the base URL is ${baseUrl}. ` +
      `Call ${baseUrl}${rest}, or create the service with \`baseUrl: '${mounted}'\`.`,
  ])
})

test('a long path does not come back', async () => {
  const { answer } = await start()
  expect((await answer(`/${'x'.repeat(5000)}/v4/dq`)).error.length).toBeLessThan(200)
})

test('a refused token names the token endpoint of the right principal', async () => {
  const { service, answer } = await start({ clock: { now: () => 1_900_000_000_000 } })
  const { accounts, users } = await service.sandbox.seed({
    accounts: [{ name: 'Shop' }],
    users: [{ email: 'ada@example.test' }],
  })
  const pairOf = ({ client_id = '', client_secret = '' } = {}) =>
    answer('/v4/account/oauth/token', { method: 'POST', ...bearer(btoa(`${client_id}:${client_secret}`), 'Basic') })
  const [shop, ada] = [await pairOf(accounts[0]), await pairOf(users[0])]
  const ACCOUNT = 'Account tokens come from POST /v4/account/oauth/token.'
  const USER = 'User tokens come from POST /v4/user/oauth/token.'
  const refused = async (path: string, token: string, says: string, scheme?: string) => {
    const { status, error } = await answer(path, bearer(token, scheme))
    expect(error.slice(-says.length)).toBe(says)
    return status
  }
  // Of accounts alone.
  expect(await refused('/v4/account', 'tqmt_unknown', ACCOUNT)).toBe(401)
  expect(await refused('/v4/account', ada.access_token, `It is the token of a user. ${ACCOUNT}`)).toBe(403)
  expect(await refused('/v4/account', shop.refresh_token, ACCOUNT)).toBe(401)
  const basic = btoa(`${users[0]?.client_id}:${users[0]?.client_secret}`)
  expect(await refused('/v4/account', basic, ACCOUNT, 'Basic')).toBe(401)
  // Of users alone.
  expect(await refused('/v4/notifications/registrations', 'tqmt_unknown', USER)).toBe(401)
  const wrong = `It is the token of an account. ${USER}`
  expect(await refused('/v4/notifications/registrations', shop.access_token, wrong)).toBe(403)
  // Of both: an expired token says whose it was.
  expect(await refused('/v4/twins', 'tqmt_unknown', `${ACCOUNT} ${USER}`)).toBe(401)
  await service.sandbox.advance('2h')
  expect(await refused('/v4/twins', ada.access_token, USER)).toBe(401)
  expect(await refused('/v4/twins', shop.access_token, ACCOUNT)).toBe(401)
  expect(await refused('/v4/twins', ada.refresh_token, USER)).toBe(401)
})

test('a read that names an unknown account is refused, and one that names none is not', async () => {
  const { service, answer } = await start()
  const { commodities, accounts } = await service.sandbox.seed({
    accounts: [{ name: 'Shop' }],
    commodities: [{ account: 'Shop', descriptor: 'NEWS', cost: 1 }],
  })
  const path = `/v2/commodity/${commodities[0]?.hash}?embed=false`
  expect((await answer(path)).descriptor).toBe('NEWS')
  expect((await answer(`${path}&public_secret=${accounts[0]?.public_secret}`)).descriptor).toBe('NEWS')
  expect(await answer(`${path}&public_secret=mp_unknown`)).toMatchObject({ status: 401, code: 'public_secret_unknown' })
})
