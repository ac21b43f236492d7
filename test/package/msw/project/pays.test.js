import { createService } from 'farthing'
import { client } from 'farthing/client'
import { handlers } from 'farthing/msw'
import { setupServer } from 'msw/node'

const email = 'reader+code123456@example.test'
const hash = '00000000-0000-4000-8000-0000000000a1'
const isPage = typeof document !== 'undefined'
const baseUrl = isPage ? `${location.origin}/pay` : 'http://pay.example.test'

/** A client without a page keeps its cookie itself. */
let cookie

async function call(method, path, body) {
  const headers = {
    'content-type': 'application/json',
    ...(!isPage && { origin: baseUrl }),
    ...(cookie && { cookie }),
  }
  const answer = await fetch(isPage ? `/pay${path}` : baseUrl + path, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  })
  if (!isPage) cookie = answer.headers.getSetCookie()[0]?.split(';')[0] ?? cookie
  const text = await answer.text()
  return { code: answer.status, ...(text && JSON.parse(text)) }
}

test('a reader signs in, pays and signs out', async () => {
  const service = createService({ baseUrl, sandbox: true })
  const { accounts } = await service.sandbox.seed({
    accounts: [{ name: 'The Daily Farthing' }],
    users: [{ email, balance: 1 }],
    commodities: [{ account: 'The Daily Farthing', descriptor: 'NEWS.ARTICLE', cost: 0.25, hash }],
  })
  const server = setupServer(...handlers(service))
  server.listen({ onUnhandledFrame: 'error', onUnhandledRequest: 'error' })

  await call('GET', '/v4/session')
  expect((await call('POST', '/v4/session/code', { email })).code).toBe(202)
  expect((await call('POST', '/v4/session/verify', { email, code: '123456' })).code).toBe(200)
  const paid = await call('POST', `/v4/payment/${hash}`, {})
  expect([paid.code, paid.amount]).toEqual([202, 0.25])
  const seller = client(service).as(accounts[0])
  expect((await seller.payments.validate(hash, { nonce: paid.nonce })).valid).toBe(true)
  expect((await call('DELETE', '/v4/session')).code).toBe(204)
  expect((await call('GET', '/v4/session')).user).toBeNull()
  expect((await service.sandbox.ledger()).ok).toBe(true)

  server.close()
  await service.close()
})
