import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createService } from '../../../src/index.js'
import type { Answer, Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { balancesOf, expectProblem, expectSoundLedger, pay } from '../../support/scenes/market.js'
import { basic, newCommodity, newPayer, newSeller } from '../../support/scenes/world.js'

/** What a careless export would quote wrongly. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of a shell.
const HARD = 'it\'s `id` $HOME ${y} "q" </script>\n!\\'

const idOf = (answer: Answer): string => answer.headers.get('x-request-id') ?? ''

const replay = (call: Call, answer: Answer, order: object = { in: 'place' }) =>
  call('POST', `/_sandbox/requests/${idOf(answer)}/replay`, { body: order })

async function newShop(call: Call) {
  const seller = await newSeller(call)
  const commodity = await newCommodity(call, seller)
  return { seller, commodity, payer: await newPayer(call, seller, { balance: 5 }) }
}

contract('replayRequest', (start) => {
  test('repeats a payment for the same payer, and shows what differs', { tags: 'everywhere' }, async () => {
    const {
      call,
      made: { commodity, payer },
    } = await startWith(start, newShop)
    const body = { cost: 0.25 }
    const headers = { 'idempotency-key': 'once' }
    const paid = await call('POST', `/v4/payment/${commodity.hash}`, { token: payer.token, body, headers })
    const replayed = await replay(call, paid)
    expect(replayed.status).toBe(200)
    const { entry, diff, ignored, effects, state } = replayed.body
    expect(entry).toMatchObject({ operation_id: 'createPayment', status: 202, caused_by: idOf(paid) })
    expect({ diff, state }).toEqual({ diff: [], state: 'now' })
    expect(ignored).toEqual(expect.arrayContaining(['body.id']))
    expect(effects).toMatchObject({ same: true })
    expect(effects.movements.is).toMatchObject([{ kind: 'payment', amount: 0.25 }])
    expect(effects.movements.was).toEqual(effects.movements.is)
    expect(Object.values(await balancesOf(call, payer.token, payer.hostname))).toEqual([4.5])
    const strict = await replay(call, paid, { in: 'place', strict: true })
    expect(strict.body.ignored).toEqual([])
    expect(strict.body.diff).toContainEqual({ path: 'body.id', was: paid.body.id, is: expect.any(Number) })
    const { caused } = (await call('GET', `/_sandbox/requests/${idOf(paid)}`)).body
    expect(caused).toContainEqual({ kind: 'entry', id: entry.id })
    await expectSoundLedger(call)
  })

  test('makes tokens, sessions, nonces and codes anew', async () => {
    const {
      call,
      made: { seller, commodity, payer },
    } = await startWith(start, newShop)
    const { nonce } = await pay(call, payer, commodity)
    const validate = (sent: string) =>
      call('POST', `/v4/payment/${commodity.hash}/validate`, { token: seller.token, body: { nonce: sent } })
    const validated = await validate(nonce)
    expectProblem(await replay(call, await validate(nonce)), 422, 'not_replayable')
    // The payment's new nonce is as used as its old one.
    expect((await replay(call, validated)).body.diff).toContainEqual({ path: 'body.code', was: null, is: 'nonce_used' })
    expect((await replay(call, await validate('nothing'))).body.diff).toEqual([])

    const session = (await call('GET', '/v4/session')).body.session_id
    const email = 'ada@example.test'
    await call('POST', '/v4/session/code', { session, body: { email } })
    const [{ codes }] = (await call('GET', `/_sandbox/outbox?to=${email}`)).body.messages
    const verified = await call('POST', '/v4/session/verify', { session, body: { email, code: codes[0] } })
    expect(verified.status).toBe(200)
    const again = (await replay(call, verified)).body
    expect(again).toMatchObject({ entry: { status: 200 }, diff: [] })
    const read = await call('GET', '/v4/session', { session: verified.body.session_id })
    expect((await replay(call, read)).body).toMatchObject({ entry: { principal: `user:${verified.body.user.id}` } })

    const tokens = await call('POST', '/v4/user/oauth/token', { headers: basic(payer.clientId, payer.clientSecret) })
    expect((await replay(call, tokens)).body).toMatchObject({ entry: { status: tokens.status }, diff: [] })
    const wrong = await call('POST', '/v4/user/oauth/token', { headers: basic(payer.clientId, 'guess') })
    expect((await replay(call, wrong)).body).toMatchObject({ entry: { code: 'client_unknown' }, diff: [] })
  })

  test('replays in a fork of the state before, and leaves this one as it is', { tags: 'everywhere' }, async () => {
    const {
      call,
      made: { seller, commodity, payer },
    } = await startWith(start, newShop)
    const { nonce } = await pay(call, payer, commodity)
    const proof = { token: seller.token, body: { nonce } }
    const validated = await call('POST', `/v4/payment/${commodity.hash}/validate`, proof)
    const spent = await call('POST', '/v4/transfer', {
      token: payer.token,
      body: { source: payer.hostname, destination: commodity.hostname, amount: 4.75, dq: commodity.dq },
    })
    const balances = await balancesOf(call, payer.token, payer.hostname)
    const again = (await replay(call, validated, { in: 'fork' })).body
    expect(again).toMatchObject({ state: 'before', diff: [], entry: { status: 200 }, effects: { same: true } })
    expect((await replay(call, spent, { in: 'fork' })).body).toMatchObject({ state: 'before', diff: [] })
    expect(await balancesOf(call, payer.token, payer.hostname)).toEqual(balances)
    expect((await call('POST', `/v4/payment/${commodity.hash}/validate`, proof)).body.code).toBe('nonce_used')
    await call('POST', '/_sandbox/reset')
    expectProblem(await replay(call, spent, { in: 'fork' }), 422, 'not_replayable')
  })

  test('refuses what cannot be repeated, and names the part that is the reason', async () => {
    const {
      call,
      made: { seller, payer },
    } = await startWith(start, newShop)
    const refusal = async (answer: Answer, order?: object) => {
      const { status, body } = await replay(call, answer, order)
      return { status, code: body.code, field: body.field }
    }
    const refused = (field: string) => ({ status: 422, code: 'not_replayable', field })
    const data = { long: 'x'.repeat(17_000) }
    const long = await call('POST', '/v4/events', { token: seller.token, body: { type: 'client.note', data } })
    expect(await refusal(long)).toEqual(refused('request.body'))
    const secret = await call('POST', '/v4/events', {
      token: seller.token,
      body: { type: 'client.note', data: { secret: 'hidden' } },
    })
    expect(await refusal(secret)).toEqual(refused('request.body.secret'))
    const pair = await call('POST', '/v4/user/oauth/token', { headers: basic(payer.clientId, payer.clientSecret) })
    const spent = await call('POST', '/v4/user/oauth/token', { token: pair.body.refresh_token })
    expect(await refusal(spent)).toEqual(refused('request.headers.authorization'))
    const unseeded = { headers: basic(seller.clientId, seller.clientSecret) }
    const known = await call('POST', '/v4/account/oauth/token', unseeded)
    expect(await refusal(known)).toEqual(refused('request.headers.authorization'))
    expect(await refusal(known, { in: 'nowhere' })).toMatchObject({ status: 400, code: 'field_invalid' })
    expectProblem(
      await call('POST', '/_sandbox/requests/req_gone_0000001/replay', { body: { in: 'place' } }),
      404,
      'not_found',
    )
  })
})

contract('readRequest and listRequests for other tools', (start) => {
  test('writes commands of a shell, with variables for secrets', { tags: 'everywhere' }, async () => {
    const {
      call,
      url,
      made: { commodity, payer },
    } = await startWith(start, newShop)
    const text = HARD
    const sent = { token: payer.token, body: { type: 'client.note', data: { text: 1, note: text } } }
    const first = await call('POST', '/v4/events', sent)
    const last = await call('POST', `/v4/payment/${commodity.hash}`, { token: payer.token, body: {} })
    const read = (as: string) => call('GET', `/_sandbox/requests?as=${as}&from=${idOf(first)}&to=${idOf(last)}`)
    const { text: script } = await read('curl')
    expect(script).toContain(`"$TOKEN_USER_${payer.id}"`)
    const { text: file } = await read('http')
    expect(file).toContain(
      `POST {{url}}/v4/payment/${commodity.hash}\nauthorization: Bearer {{TOKEN_USER_${payer.id}}}`,
    )
    const { log } = JSON.parse((await read('har')).text)
    expect(log).toMatchObject({
      version: '1.2',
      entries: [{ response: { status: first.status } }, { comment: idOf(last) }],
    })
    expect(log.entries[0].request.url).toBe(`${url}/v4/events`)
    expect(JSON.parse(log.entries[0].request.postData.text).data.note).toBe(text)
    const { text: exported } = await call('GET', `/_sandbox/requests/${idOf(last)}?as=vitest`)
    expect(exported).toContain("import { createService } from 'farthing'")
    expect(exported).toContain(`actAs('user:${payer.id}')`)
    // The journal takes `text` for a secret. Of this range, only the payment can be repeated.
    expectProblem(await read('vitest'), 422, 'not_replayable')
    expect((await read('vitest&status=202')).text).toContain("test('createPayment answers 202'")
    for (const shown of [script, file, exported, JSON.stringify(log)]) {
      expect(shown).not.toContain(payer.token)
      expect(shown).not.toContain(last.body.nonce)
    }
    const one = await call('GET', `/_sandbox/requests/${idOf(last)}?as=curl`)
    expect(script.endsWith(one.text.split('\n\n')[1] ?? '')).toBe(true)
    expectProblem(await call('GET', '/_sandbox/requests?as=curl'), 400, 'field_invalid')
    expectProblem(
      await call('GET', `/_sandbox/requests?as=curl&from=${idOf(last)}&to=req_gone_0000001`),
      404,
      'not_found',
    )
    for (const id of ['%27%3B%20rm%20-rf%20~', '..%2f..%2fetc'])
      expectProblem(await call('GET', `/_sandbox/requests/${id}?as=vitest`), 404, 'not_found')
    const data = { secret: 'mine' }
    const hidden = await call('POST', '/v4/events', { token: payer.token, body: { type: 'client.note', data } })
    const refused = await call('GET', `/_sandbox/requests/${idOf(hidden)}?as=vitest`)
    expectProblem(refused, 422, 'not_replayable')
    expect(refused.body).toMatchObject({ field: 'request.body.secret', id: idOf(hidden) })
  })
})

test('a shell sends what an export holds, whatever is quoted in it', async () => {
  const service = createService({ sandbox: true })
  const body = JSON.stringify({ type: 'x', note: HARD })
  const sent = await service.fetch('/v4/events?a=[1]{2}&b=%27', {
    method: 'POST',
    body,
    headers: { authorization: 'Bearer a' },
  })
  const script = await service.sandbox.requests.export(sent.headers.get('x-request-id') ?? '', 'curl')
  const curl = 'curl() { printf "%s\\n" "$@"; }\n'
  const env = { PATH: process.env.PATH, REFUSED_CREDENTIAL: 'b', FARTHING_URL: 'http://localhost' }
  const { stdout } = await promisify(execFile)('sh', ['-c', curl + script], { env })
  expect(stdout.split('\n')).toEqual(
    expect.arrayContaining([body, 'http://localhost/v4/events?a=[1]{2}&b=%27', 'authorization: Bearer b']),
  )
  await service.close()
})

test('a thief cannot replay, and their refused requests are never replayed for them', async () => {
  const service = createService({ sandbox: true })
  const from = (peerAddress: string, headers = {}) =>
    service.respond(new Request(`${service.baseUrl}/_sandbox/reset`, { method: 'POST', headers }), { peerAddress })
  const stolen = await from('203.0.113.7')
  expect(stolen.status).toBe(403)
  const foreign = await from('127.0.0.1', { origin: 'https://thief.example.test' })
  expect(foreign.status).toBe(403)
  for (const { headers } of [stolen, foreign])
    await expect(
      service.sandbox.requests.replay(headers.get('x-request-id') ?? '', { in: 'place' }),
    ).rejects.toMatchObject({ code: 'not_replayable', fields: { field: 'code' } })
  const path = `${service.baseUrl}/_sandbox/requests/${stolen.headers.get('x-request-id')}/replay`
  const body = JSON.stringify({ in: 'place' })
  const replayed = await service.respond(new Request(path, { method: 'POST', body }), { peerAddress: '203.0.113.7' })
  expect(replayed.status).toBe(403)
  await service.close()
})
