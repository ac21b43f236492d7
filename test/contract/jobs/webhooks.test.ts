import { afterAll, beforeAll, expect, test } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { createService } from '../../../src/index.js'
import { type Call, type CallOptions, caller } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { expectProblem } from '../../support/scenes/market.js'
import { startUpstream, type TestUpstream } from '../../support/scenes/upstream.js'
import { deliveriesOf, until, verify } from '../../support/scenes/webhooks.js'
import { newPayer, newSeller, type Seller } from '../../support/scenes/world.js'

let receiver: TestUpstream
beforeAll(async () => {
  receiver = await startUpstream()
})
afterAll(() => receiver.close())

const create = (call: Call, { token }: Pick<Seller, 'token'>, body: object = {}, options: CallOptions = {}) =>
  call('POST', '/v4/webhooks', {
    ...options,
    token,
    body: { url: `${receiver.url}/ok`, events: ['client.*'], ...body },
  })

contract('webhooks', (start) => {
  test('createWebhook to redeliverWebhook: the family of operations', { tags: 'everywhere' }, async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const { token } = seller
    const path = `/${crypto.randomUUID()}`
    const made = await create(call, seller, { url: `${receiver.url}/ok${path}`, description: 'The shop' })
    const { secret, ...webhook } = made.body
    expect([made.status, secret]).toEqual([201, expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/)])
    expect(webhook).toEqual({
      id: expect.any(Number),
      url: `${receiver.url}/ok${path}`,
      description: 'The shop',
      events: ['client.*'],
      signature: 'hmac-sha256',
      public_key: null,
      status: 'enabled',
      disabled_reason: null,
      former_secret_until: null,
      created_at: expect.any(Number),
      updated_at: webhook.created_at,
    })
    const at = `/v4/webhooks/${webhook.id}`
    expect((await call('GET', '/v4/webhooks', { token })).body).toEqual({ webhooks: [webhook], next: null })
    expect((await call('GET', at, { token })).body).toEqual(webhook)
    const changed = await call('PUT', at, { token, body: { events: ['payment.*'], description: null } })
    expect(changed.body).toMatchObject({ id: webhook.id, url: webhook.url, events: ['payment.*'], description: null })
    const rotated = (await call('POST', `${at}/rotate`, { token })).body
    expect(rotated.former_secret_until - rotated.updated_at).toBe(86_400)

    const tested = await call('POST', `${at}/test`, { token })
    expect([tested.status, tested.body.type]).toEqual([201, 'webhook.test'])
    const isDone = async () => (await deliveriesOf(call, seller, webhook.id))[0]?.status === 'succeeded'
    await until(isDone)
    const [delivery] = await deliveriesOf(call, seller, webhook.id)
    expect(delivery).toEqual({
      ...tested.body,
      status: 'succeeded',
      tries: [{ at: expect.any(Number), status: 200, ms: expect.any(Number), error: null }],
      next_try_at: null,
    })
    const again = await call('POST', `${at}/deliveries/${delivery.id}/redeliver`, { token })
    expect([again.status, again.body.message_id]).toEqual([200, delivery.message_id])
    await until(isDone)
    const got = receiver.requests.filter((request) => request.path.endsWith(path))
    const tests = got.filter(({ headers }) => headers['webhook-id'] === delivery.message_id)
    expect(tests.map(({ body }) => JSON.parse(body).id)).toEqual([delivery.event_id, delivery.event_id])
    for (const { body, headers } of tests)
      for (const each of [secret, rotated.secret])
        expect(verify(each, { body, headers: headers as Record<string, string> })).toEqual(JSON.parse(body))

    expect((await call('DELETE', at, { token })).status).toBe(204)
    expectProblem(await call('GET', at, { token }), 404, 'not_found')
  })

  test('createWebhook and rotateWebhook take Ed25519, and show the public key alone', async () => {
    const { call, state, made: seller } = await startWith(start, newSeller)
    const { token } = seller
    const { body: made } = await create(call, seller, { signature: 'ed25519' })
    expect(made).toMatchObject({
      signature: 'ed25519',
      secret: null,
      public_key: expect.stringMatching(/^whpk_[A-Za-z0-9+/]{43}=$/),
    })
    const { secret: _, ...webhook } = made
    const at = `/v4/webhooks/${made.id}`
    expect((await call('GET', at, { token })).body).toEqual(webhook)
    const rotated = (await call('POST', `${at}/rotate`, { token })).body
    expect([rotated.signature, rotated.secret]).toEqual(['ed25519', null])
    expect(rotated.public_key).not.toBe(made.public_key)
    const shared = (await call('POST', `${at}/rotate`, { token, body: { signature: 'hmac-sha256' } })).body
    expect([shared.signature, shared.public_key]).toEqual(['hmac-sha256', null])
    expect(shared.secret).toMatch(/^whsec_/)
    expect(JSON.stringify(await state())).not.toContain('whsk_')
    for (const signature of ['rsa', null, 1])
      expectProblem(await create(call, seller, { signature }), 400, 'field_invalid')
    expectProblem(await call('POST', `${at}/rotate`, { token, body: { signature: 'rsa' } }), 400, 'field_invalid')
  })

  test('createWebhook and updateWebhook refuse patterns that name no event, with the field and the nearest name', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const { id } = (await create(call, seller)).body
    for (const [events, field, hint] of [
      [['*', 'payment.create'], 'events.1', 'Did you mean "payment.created"?'],
      [['paymnt.*'], 'events.0', 'Did you mean "payment.*"?'],
      [['payment.created.*'], 'events.0', 'Did you mean "payment.created"?'],
      [['client.*', ''], 'events.1', 'must be a type of event'],
      [['client.Ä'], 'events.0', 'must be a type of event'],
      [[], 'events', ''],
      [Array(51).fill('*'), 'events', ''],
      ['payment.*', 'events', ''],
    ]) {
      const refused = [
        await create(call, seller, { events }),
        await call('PUT', `/v4/webhooks/${id}`, { token: seller.token, body: { events } }),
      ]
      for (const answer of refused) {
        expectProblem(answer, 400, 'field_invalid')
        expect(answer.body).toMatchObject({ field, error: expect.stringContaining(String(hint)) })
      }
    }
    expect((await create(call, seller, { events: ['payment.created', 'payment.*', 'client.a.b', '*'] })).status).toBe(
      201,
    )
  })

  test('createWebhook and updateWebhook refuse addresses that the service never calls', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const { id } = (await create(call, seller)).body
    for (const url of [
      'http://169.254.169.254/',
      'http://0xa9fea9fe/',
      'http://[fd00:ec2::254]/',
      'file:///etc/passwd',
      'x',
    ]) {
      expectProblem(await create(call, seller, { url }), 422, 'upstream_refused')
      expectProblem(
        await call('PUT', `/v4/webhooks/${id}`, { token: seller.token, body: { url } }),
        422,
        'upstream_refused',
      )
    }
  })

  test('createWebhook creates at most 20 for an account, and listWebhooks has pages', async () => {
    const { call } = await start()
    const [seller, other] = [await newSeller(call), await newSeller(call)]
    for (let n = 0; n < 20; n++) expect((await create(call, seller)).status).toBe(201)
    expectProblem(await create(call, seller), 409, 'too_many_webhooks')
    const { token } = seller
    const first = (await call('GET', '/v4/webhooks?limit=15', { token })).body
    const second = (await call('GET', `/v4/webhooks?limit=15&after=${first.next}`, { token })).body
    expect([first.webhooks.length, second.webhooks.length, second.next]).toEqual([15, 5, null])
    const foreign = (await create(call, other)).body
    expectProblem(await call('GET', `/v4/webhooks?after=${foreign.id}`, { token }), 400, 'cursor_invalid')
    expect((await call('DELETE', `/v4/webhooks/${first.next}`, { token })).status).toBe(204)
    expect((await create(call, seller)).status).toBe(201)
  })

  test('another account finds nothing, and a user may not call', async () => {
    const { call } = await start()
    const [seller, thief] = [await newSeller(call), await newSeller(call)]
    const payer = await newPayer(call, seller)
    const { id } = (await create(call, seller)).body
    const own = (await create(call, thief)).body
    const delivery = (await call('POST', `/v4/webhooks/${id}/test`, { token: seller.token })).body.id
    const redeliver = (webhook: number) => `/v4/webhooks/${webhook}/deliveries/${delivery}/redeliver`
    for (const [method, path] of [
      ['GET', `/v4/webhooks/${id}`],
      ['PUT', `/v4/webhooks/${id}`],
      ['DELETE', `/v4/webhooks/${id}`],
      ['POST', `/v4/webhooks/${id}/rotate`],
      ['POST', `/v4/webhooks/${id}/test`],
      ['GET', `/v4/webhooks/${id}/deliveries`],
      ['POST', redeliver(id)],
      // Through a webhook of their own.
      ['POST', redeliver(own.id)],
    ] as const) {
      const body = method === 'PUT' ? { body: { description: 'mine' } } : {}
      expectProblem(await call(method, path, { token: thief.token, ...body }), 404, 'not_found')
      expect((await call(method, path, { token: payer.token, ...body })).status).toBeGreaterThanOrEqual(400)
    }
    const cursor = await call('GET', `/v4/webhooks/${own.id}/deliveries?after=${delivery}`, { token: thief.token })
    expectProblem(cursor, 400, 'cursor_invalid')
    expect((await call('GET', '/v4/webhooks', { token: thief.token })).body.webhooks).toHaveLength(1)
  })

  test('testWebhook and redeliverWebhook send nothing to a disabled webhook', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const { token } = seller
    const { id } = (await create(call, seller)).body
    const tested = (await call('POST', `/v4/webhooks/${id}/test`, { token })).body
    const disabled = await call('PUT', `/v4/webhooks/${id}`, { token, body: { status: 'disabled' } })
    expect(disabled.body).toMatchObject({ status: 'disabled', disabled_reason: 'owner' })
    const paths = [`/v4/webhooks/${id}/test`, `/v4/webhooks/${id}/deliveries/${tested.id}/redeliver`]
    for (const path of paths) expectProblem(await call('POST', path, { token }), 409, 'webhook_disabled')
    const enabled = await call('PUT', `/v4/webhooks/${id}`, { token, body: {} })
    expect(enabled.body).toMatchObject({ status: 'enabled', disabled_reason: null })
  })

  test('each call with an Idempotency-Key has one effect', async () => {
    const storage = memoryStorage()
    const [one, other] = ['11', '22'].map((byte) => {
      const service = createService({ storage, sandbox: true, encryptionKey: byte.repeat(32) })
      return caller({ url: service.baseUrl, fetch: service.fetch })
    }) as [Call, Call]
    const seller = await newSeller(one)
    const { id } = (await create(one, seller)).body
    const { id: delivery } = (await one('POST', `/v4/webhooks/${id}/test`, { token: seller.token })).body
    const body = { url: `${receiver.url}/ok`, events: ['*'] }
    const redeliver = (webhook: number) => `/v4/webhooks/${webhook}/deliveries/${delivery}/redeliver`
    const operations = [
      ['/v4/webhooks', body],
      [`/v4/webhooks/${id}/rotate`, {}],
      [`/v4/webhooks/${id}/test`, {}],
      [redeliver(id), {}],
    ] as const
    for (const [path, sent] of operations) {
      const keyed = { token: seller.token, headers: { 'idempotency-key': 'once' }, body: sent }
      const first = await one('POST', path, keyed)
      expect([(await one('POST', path, keyed)).text, first.status < 300]).toEqual([first.text, true])
      expectProblem(
        await one('POST', path, { ...keyed, body: { ...sent, events: ['client.*'] } }),
        422,
        'idempotency_mismatch',
      )
      expectProblem(await other('POST', path, keyed), 409, 'idempotency_unreadable')
    }
    const { webhooks } = (await one('GET', '/v4/webhooks', { token: seller.token })).body
    expect(webhooks).toHaveLength(2)
  })
})
