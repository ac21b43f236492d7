import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeServer } from '../../runtimes/node-server.js'
import type { Running } from '../../runtimes/runtime.js'
import { newItem, newShop, putParameters } from '../../support/scenes/catalog.js'
import { advance } from '../../support/scenes/market.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { basic, newPayer, newSeller } from '../../support/scenes/world.js'
import { startFailing } from '../../support/storage/failing-storage.js'
import { errorRows } from './errors.js'
import * as resources from './resources.js'
import { type Row, rows, type Sender } from './rows.js'
import { createScene, fill, type Scene, sendRow } from './scene.js'
import { differences, fields, type Kind, listOf, mapOf, type Shape } from './shapes.js'

/** The tables of the Micro Payment Service Interface against the service, over a connection. */

let running: Running
let scene: Scene
beforeAll(async () => {
  running = await nodeServer.start({})
  scene = await createScene(running)
})
afterAll(() => running.close())

const titled = <T extends { method: string; path: string }>(row: T) => [`${row.method} ${row.path}`, row] as const

/** Each row with each of its senders. */
const cases = rows.flatMap((row) =>
  row.senders.map((sender) => {
    const body = row.request ? ` {${Object.keys(row.request).join(', ')}}${row.form ? ' as a form' : ''}` : ''
    return [`${row.section}: ${row.method} ${row.path}${body} from ${sender}`, row, sender] as const
  }),
)

const isCsv = (answer: Row['answer']): answer is { readonly columns: Readonly<Record<string, Kind>> } =>
  typeof answer === 'object' && 'columns' in answer

function expectAnswer(answer: Row['answer'], { headers, body, text }: Awaited<ReturnType<typeof sendRow>>): void {
  if (!isCsv(answer)) return expect(differences(answer, body)).toEqual([])
  expect(headers['content-type']).toBe('text/csv; charset=utf-8')
  const [header, ...records] = text.replace(/\r?\n$/, '').split(/\r?\n/)
  expect(header).toBe(Object.keys(answer.columns).join(','))
  const cells = records.map((record) => record.split(','))
  const columns: Shape[] = Object.values(answer.columns)
  expect(differences(listOf(columns), cells)).toEqual([])
  expect(cells.length).toBeGreaterThan(0)
}

const withOtherSlash = (path: string): string => (path.endsWith('/') ? path.slice(0, -1) : `${path}/`)

describe('the tables of sections 4.1 to 4.8', () => {
  it.each(cases)('%s', async (_, row, sender) => {
    for (const path of [row.path, withOtherSlash(row.path)]) {
      const body = row.request && (await fill(scene, sender, row.request))
      const answer = await sendRow(scene, { ...row, path, sender, body })
      expect(answer.status, answer.text).toBe(row.status)
      expectAnswer(row.answer, answer)
    }
  })

  const reads = rows.filter(({ method, request }) => method === 'GET' && request)
  it.each(reads.map(titled))('%s also takes its fields in the query', async (_, row) => {
    const [sender = 'nobody'] = row.senders
    const query = new URLSearchParams((await fill(scene, sender, row.request ?? {})) as Record<string, string>)
    const answer = await sendRow(scene, { ...row, path: `${row.path}?${query}`, sender })
    expect(answer.status, answer.text).toBe(row.status)
    expectAnswer(row.answer, answer)
  })

  const required = rows.flatMap((row) => Object.keys(row.request ?? {}).flatMap((name) => missing(row, name)))

  function missing(row: Row, name: string): (readonly [string, Row, string])[] {
    return name.endsWith('?') ? [] : [[`${row.method} ${row.path} without ${name}`, row, name]]
  }

  it.each(required)('%s is refused', async (_, row, name) => {
    const [sender = 'nobody'] = row.senders
    const { [name]: _missing, ...body } = await fill(scene, sender, row.request ?? {})
    const { status, body: refused } = await sendRow(scene, { ...row, sender, body })
    expect(differences(resources.errorBody, refused)).toEqual([])
    // The public secret is the credential.
    if (name === 'public_secret') expect(status).toBe(401)
    else expect([status, refused.field]).toEqual([400, name])
  })

  const guarded = rows.filter(({ senders }) => !senders.includes('nobody'))
  it.each(guarded.map(titled))('%s without or with an unknown credential is 401', async (_, row) => {
    const answers = [await sendRow(scene, { ...row, sender: 'nobody', body: row.request && {} })]
    const url = scene.url + row.path.replace('{user_id}', '1').replace(/\{\w+\}/, 'x')
    const unknown = { authorization: `Bearer tqmt_${'0'.repeat(32)}` }
    const response = await fetch(url, { method: row.method, headers: unknown })
    answers.push({ status: response.status, headers: {}, text: '', body: await response.json() })
    for (const { status, body } of answers) {
      expect([status, body.status]).toEqual([401, 401])
      expect(differences(resources.errorBody, body)).toEqual([])
    }
  })

  const forbidden = rows.flatMap((row) =>
    (row.forbidden ?? []).map((sender) => [`${row.method} ${row.path} from ${sender}`, row, sender] as const),
  )
  it.each(forbidden)('%s is 403', async (_, row, sender) => {
    const body = row.request && (await fill(scene, sender, row.request))
    const { status, body: refused } = await sendRow(scene, { ...row, sender, body })
    expect([status, refused.status]).toEqual([403, 403])
    expect(differences(resources.errorBody, refused)).toEqual([])
  })
})

describe('the fields of section 2', () => {
  it('a field that is missing, extra or of another type differs', () => {
    const shape = fields({ id: 'integer', 'name?': 'string | null', times: listOf('Unix seconds') }, { more: 'string' })
    expect(differences(shape, { id: 1, name: null, times: [1_800_000_000], more: '' })).toEqual([])
    expect(differences(shape, { id: '1', times: [1], more: null, other: 1 })).toEqual([
      'answer.other is not in the table',
      'answer.id is "1", not integer',
      'answer.times[0] is 1, not Unix seconds',
      'answer.more is null, not string',
    ])
    expect(differences(shape, { id: 1, times: [] })).toEqual(['answer.more is missing'])
    expect(differences(mapOf('hash', 'number'), {})).toEqual(['answer is empty'])
    expect(differences([resources.errorBody], [])).not.toEqual([])
  })

  it('all seven of a dispatch parameter are in each answer, and a sensitive value is null', async () => {
    const { call } = scene
    const { seller, item } = await newShop(call)
    const secret = { kind: 'header', name: 'Authorization', sensitive: true, value: 'Bearer 1' }
    const { body } = await putParameters(call, seller, item, [secret, { kind: 'query', name: 'plan', value: 'gold' }])
    const read = await call('GET', `/v4/catalog/items/${item.id}/parameters`, { token: seller.token })
    for (const { parameters } of [body, read.body]) {
      expect(differences(listOf(resources.dispatchParameter), parameters)).toEqual([])
      expect(parameters.map(({ value }: { value: unknown }) => value)).toEqual([null, 'gold'])
    }
  })

  it('times in requests are digits or integers', async () => {
    const { twin, seller, url } = scene
    const binder = `${url}/v4/twin/${twin.hostname}/binder`
    const headers = { authorization: `Bearer ${seller.token}`, accept: 'application/json' }
    const later = Math.floor(Date.now() / 1000) + 60
    for (const time of [later, `${later}`, new Date(later * 1000).toISOString()]) {
      expect(await (await fetch(`${binder}?from=${time}`, { headers })).json()).toEqual([])
      expect(await (await fetch(`${binder}?to=${time}`, { headers })).json()).toHaveLength(1)
    }
  })
})

describe('the errors of section 7', () => {
  it.each(errorRows.map((row) => [`${row.status}: ${row.meaning}`, row] as const))('%s', async (_, row) => {
    const body = { ...(await fill(scene, row.sender, row.request ?? {})), ...row.body }
    const sent = row.method === 'GET' ? undefined : body
    const { status, body: refused } = await sendRow(scene, { ...row, body: sent })
    expect([status, refused.status]).toEqual([row.status, row.status])
    expect(differences(resources.errorWith(row.designed), refused)).toEqual([])
    if (row.code !== undefined) expect(refused.code).toBe(row.code)
  })

  it('500: Creating or provisioning an account failed', async () => {
    const { url, fetch: send, storage, service } = startFailing()
    const [dq] = (await (await send(new Request(`${url}/v4/dq`))).json()).digital_quantities
    storage.failing = 'writes'
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ dq, email: 'ada@example.test' })
    for (const sent of [
      new Request(`${url}/v4/account`, { method: 'POST' }),
      new Request(`${url}/v4/account/register`, { method: 'POST', headers, body }),
    ]) {
      const response = await send(sent)
      const refused = await response.json()
      expect([response.status, refused.status]).toEqual([500, 500])
      expect(differences(resources.errorBody, refused)).toEqual([])
    }
    storage.failing = 'nothing'
    await service.close()
  })
})

describe('the limits of section 8', () => {
  const upstream = useUpstream()
  const HOUR = 3600

  /** A pair for new client credentials, and the time it was issued at. */
  async function newPair() {
    const { call } = scene
    const seller = await newSeller(call)
    const headers = basic(seller.clientId, seller.clientSecret)
    const exchange = async () => (await call('POST', '/v4/account/oauth/token', { headers })).body
    return { call, exchange, pair: await exchange() }
  }

  it('an access token is valid for 1 hour, a refresh token for 24 hours', async () => {
    const { call, pair } = await newPair()
    expect(pair.refresh_expires_at - pair.expires_at).toBe(23 * HOUR)
    const { now } = (await call('GET', '/_sandbox/clock')).body
    const left = pair.expires_at - Math.floor(Date.parse(now) / 1000)
    expect(left).toBeGreaterThan(HOUR - 60)
    expect(left).toBeLessThanOrEqual(HOUR)
  })

  it('a refresh token works once', async () => {
    const { call, pair } = await newPair()
    const refresh = () => call('POST', '/v4/account/oauth/token', { token: pair.refresh_token })
    expect([(await refresh()).status, (await refresh()).status]).toEqual([200, 401])
  })

  it('a name of a dispatch parameter has 1 to 64 letters, digits, _ and -', async () => {
    const { seller, item } = await newShop(scene.call)
    const named = async (name: string) =>
      (await putParameters(scene.call, seller, item, [{ kind: 'query', name, value: '1' }])).status
    for (const name of ['a', 'Z9_-', 'a'.repeat(64)]) expect([name, await named(name)]).toEqual([name, 200])
    for (const name of ['', 'a'.repeat(65), 'a b', 'ä', 'a.b']) expect([name, await named(name)]).toEqual([name, 400])
  })

  it('a checkout is payable once', async () => {
    const { call } = scene
    const seller = await newSeller(call)
    const item = await newItem(call, seller, { external_endpoint: `${upstream.url}/ok` })
    const [payer, other] = [await newPayer(call, seller, { balance: 5 }), await newPayer(call, seller, { balance: 5 })]
    const made = { token: seller.token, body: { catalog_item_id: item.id, arguments: { city: 'Oslo' } } }
    const { token: link } = (await call('POST', '/v4/checkout', made)).body
    const pay = ({ token }: { token: string }) => call('POST', `/v4/checkout/${link}/complete`, { token, body: {} })
    const [first, again] = [await pay(payer), await pay(payer)]
    expect([first.status, again.status, (await pay(other)).status]).toEqual([200, 200, 409])
    expect(again.body.receipt).toEqual(first.body.receipt)
  })

  // Last, because it moves the clock.
  it('an access token with at least 5 minutes left is returned unchanged', async () => {
    const { call, exchange, pair } = await newPair()
    await advance(call, '54m')
    expect((await exchange()).access_token).toBe(pair.access_token)
    await advance(call, '2m')
    expect((await exchange()).access_token).not.toBe(pair.access_token)
  })
})

it('has a row for every sender that a sender can be', () => {
  const senders = new Set<Sender>(rows.flatMap((row) => row.senders))
  expect([...senders].sort()).toEqual(
    ['a page', 'a refresh token', 'a user', 'an account', 'an agent', 'client credentials', 'nobody'].sort(),
  )
})
