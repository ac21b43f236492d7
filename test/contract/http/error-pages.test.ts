import { expect, it } from 'vitest'
import { problemCodes, problemStatus } from '../../../src/base/problem.js'
import { createService } from '../../../src/index.js'
import { contract } from '../../support/contract/contract.js'

const inJson = { headers: { accept: 'application/json' } }

contract('readErrorCode', (start) => {
  it('explains an error at the address in its body', { tags: 'everywhere' }, async () => {
    const { call, url } = await start()
    const { body } = await call('GET', '/v4/twins')
    expect(body).toEqual({
      error: expect.any(String),
      status: 401,
      code: 'authorization_missing',
      docs: `${url}/docs/errors/authorization_missing`,
    })
    const { status, text, headers } = await call('GET', body.docs.slice(url.length), {
      headers: { accept: 'text/html' },
    })
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(text).toContain('<h1>authorization_missing</h1>')
    expect(text).toContain('<code>POST /v4/account/oauth/token</code>')
  })

  it('answers programs with JSON or Markdown', { tags: ['everywhere', 'pages'] }, async () => {
    const { call, url } = await start()
    const { body } = await call('GET', '/docs/errors/price_changed', inJson)
    expect(body).toMatchObject({ code: 'price_changed', status: 409, docs: `${url}/docs/errors/price_changed` })
    expect(body.fields).toContainEqual({ name: 'price', type: 'number', description: expect.any(String) })
    expect(body.operations).toContainEqual({ id: 'createPayment', method: 'POST', path: '/v4/payment/{hash}' })
    const { text, headers } = await call('GET', '/docs/errors/price_changed', { headers: { accept: 'text/markdown' } })
    expect(headers.get('content-type')).toBe('text/markdown; charset=utf-8')
    for (const line of ['# price_changed', '## How to fix it', '- `createPayment`: `POST /v4/payment/{hash}`'])
      expect(text.split('\n')).toContain(line)
  })

  it('explains every code in every form', async () => {
    const { call } = await start()
    for (const code of problemCodes) {
      const { body } = await call('GET', `/docs/errors/${code}`, inJson)
      expect(body.status).toBe(problemStatus(code))
      for (const accept of ['text/html', 'text/markdown']) {
        const { status, text } = await call('GET', `/docs/errors/${code}`, { headers: { accept } })
        expect([status, text.includes(code)]).toEqual([200, true])
      }
    }
  })

  it('names the nearest code for one that does not exist', { tags: 'everywhere' }, async () => {
    const { call, url } = await start()
    const { status, body } = await call('GET', '/docs/errors/nonce_usd', inJson)
    expect([status, body.code]).toEqual([404, 'not_found'])
    expect(body.error).toContain('Did you mean "nonce_used"?')
    expect(body.error).toContain(`${url}/docs/errors lists all`)
    const page = await call('GET', '/docs/errors/%3Cscript%3E', { headers: { accept: 'text/html' } })
    expect([page.status, page.text.includes('<script>')]).toEqual([404, false])
    const long = await call('GET', `/docs/errors/${'nonce_used'.repeat(20)}`, inJson)
    expect([long.status, long.body.error.includes('mean')]).toEqual([404, false])
    expect((await call('GET', '/docs/errors/__proto__', inJson)).status).toBe(404)
  })

  it('answers in a strict mode too, with the operations that answer there', async () => {
    const { call } = await start({ evidence: 'documented' })
    expect((await call('GET', '/v4/twins')).body).not.toHaveProperty('docs')
    const { body } = await call('GET', '/docs/errors/not_owner', inJson)
    const ids = body.operations.map(({ id }: { id: string }) => id)
    expect(ids).toContain('readTwin')
    expect(ids).not.toContain('createDelegate')
  })
})

contract('listErrorCodes', (start) => {
  it('lists every code once, by its status', { tags: 'everywhere' }, async () => {
    const { call, url } = await start()
    const { errors } = (await call('GET', '/docs/errors', inJson)).body
    expect(errors.map(({ code }: { code: string }) => code).sort()).toEqual([...problemCodes].sort())
    const statuses = errors.map(({ status }: { status: number }) => status)
    expect(statuses).toEqual(statuses.toSorted((a: number, b: number) => a - b))
    const page = await call('GET', '/docs/errors')
    const markdown = await call('GET', '/docs/errors', { headers: { accept: 'text/markdown' } })
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    for (const code of problemCodes) {
      expect(page.text).toContain(`href="${url}/docs/errors/${code}"`)
      expect(markdown.text).toContain(`(${url}/docs/errors/${code})`)
    }
  })
})

it('leads to the page of a service below a path', async () => {
  const service = createService({ baseUrl: 'https://pay.example.test/farthing' })
  const { docs } = await (await service.fetch('/farthing/v4/twins')).json()
  expect(docs).toBe('https://pay.example.test/farthing/docs/errors/authorization_missing')
  const page = await service.fetch(docs)
  expect(page.status).toBe(200)
  expect(await page.text()).toContain('href="https://pay.example.test/farthing/docs/errors"')
  await service.close()
})

it('is in errors of OAuth by the name of their standard, and in a replayed answer unchanged', async () => {
  const service = createService({ sandbox: true })
  const form = new URLSearchParams({ grant_type: 'authorization_code', client_id: 'nobody' })
  const refused = await service.fetch('/v4/oidc/token', { method: 'POST', body: form })
  const oauth = await refused.json()
  expect(oauth).toMatchObject({ error: 'invalid_client', error_uri: `${service.baseUrl}/docs/errors/invalid_client` })
  expect(oauth).not.toHaveProperty('docs')
  const { accounts } = await service.sandbox.seed({ accounts: [{ name: 'News' }] })
  const [news] = accounts
  const send = () =>
    service.fetch('/v4/account/oauth/token', {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${news?.client_id}:wrong`)}`, 'idempotency-key': 'the key of a retry' },
    })
  const [first, second] = [await (await send()).json(), await (await send()).json()]
  expect(first.docs).toBe(`${service.baseUrl}/docs/errors/client_unknown`)
  expect(second).toEqual(first)
  await service.close()
})
