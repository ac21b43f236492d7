import { expect, test } from 'vitest'
import { csvReply } from '../../../src/http/csv/csv.js'
import type { EntryRow } from '../../../src/money/ledger/movement.js'
import { contract } from '../../support/contract/contract.js'
import { madeOnce } from '../../support/contract/made-once.js'
import { startWith } from '../../support/contract/prepared.js'
import { advance, expectProblem, fund, pay, stopClock } from '../../support/scenes/market.js'
import { HASH, newDelegate, newPersona } from '../../support/scenes/personas.js'
import { addressOf, linesOf } from '../../support/scenes/statements.js'
import { newCommodity, newPayer, newSeller, newTwin } from '../../support/scenes/world.js'

const HEADER = 'timestamp,fileAction,fileIdentity,fileType,amount,fromAddress,destinationAddress'
const json = { accept: 'application/json' }

const delegatesAmongMovements = madeOnce(async (call) => {
  await stopClock(call)
  const seller = await newSeller(call)
  const { hash: persona, hostname } = await newPersona(call, seller)
  const expected: string[] = []
  for (let n = 1; n <= 5; n++) {
    await Promise.all(Array.from({ length: 50 }, () => fund(call, hostname, n)))
    const made = Array.from({ length: 50 }, () => newDelegate(call, seller, { persona, hostname }))
    const issues = (await Promise.all(made)).sort((a, b) => b.issue - a.issue)
    expected.unshift(...Array.from({ length: 50 }, () => `${n}`), ...issues.map(({ hash }) => hash))
    await advance(call, '1s')
  }
  return { seller, hostname, expected }
})

const manyMovements = madeOnce(async (call) => {
  const { token } = await newSeller(call)
  const { id, hostname } = await newTwin(call, token)
  for (let n = 0; n < 1050; n += 105)
    await Promise.all(Array.from({ length: 105 }, (_, more) => fund(call, hostname, n + more + 1)))
  const newestFirst = ((await call('GET', '/_sandbox/snapshot')).body.rows.entries as EntryRow[])
    .filter(({ twin_id }) => twin_id === id)
    .sort((a, b) => b.at - a.at || b.id - a.id)
    .map(({ amount }) => Number(amount) / 1000)
  return { token, hostname, newestFirst }
})

contract('readBinder', (start) => {
  /** A payer who was given 1 and paid 0.25, a second later, with the clock stopped. */
  async function prepared() {
    const { call } = await start()
    const at = await stopClock(call)
    const seller = await newSeller(call)
    const payer = await newPayer(call, seller)
    const commodity = await newCommodity(call, seller, { cost: 0.25 })
    await fund(call, payer.hostname, 1)
    await advance(call, '1s1ms')
    await pay(call, payer, commodity)
    const read = (query = '', headers: Record<string, string> = { accept: 'text/csv' }, { token } = payer) =>
      call('GET', `/v4/twin/${payer.hostname}/binder${query}`, { token, headers })
    const issuer = linesOf((await read()).text)[2]?.split(',')[5] as string
    return { call, at, seller, payer, commodity, issuer, read }
  }

  for (const version of ['v4', 'v2'])
    test(`gives seven columns as CSV, the newest record first, under /${version}`, { tags: 'everywhere' }, async () => {
      const { call, at, payer, commodity, issuer } = await prepared()
      for (const headers of [{ accept: 'text/csv' }, {} as Record<string, string>, { accept: '*/*' }]) {
        const answer = await call('GET', `/${version}/twin/${payer.hostname}/binder`, { token: payer.token, headers })
        expect(answer.status).toBe(200)
        expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
        expect(answer.headers.get('cache-control')).toBe('private, no-store')
        const [header, ...records] = linesOf(answer.text)
        const cells = records.map((record) => record.split(','))
        expect(header).toBe(HEADER)
        expect(cells).toEqual([
          [
            new Date(at + 1001).toISOString(),
            'send',
            expect.stringMatching(HASH),
            commodity.dq,
            '0.25',
            '',
            addressOf(commodity.hostname),
          ],
          [new Date(at).toISOString(), 'receive', expect.stringMatching(HASH), commodity.dq, '1', issuer, ''],
        ])
      }
    })

  test('shows a movement under the same hash in the binders of the payer and the payee', async () => {
    const { call, seller, payer, commodity, read } = await prepared()
    await pay(call, payer, commodity)
    const sent = (await read('', json)).body.filter(({ data }: any) => data.entryOperation === 'send')
    const { body: received } = await call('GET', `/v4/twin/${commodity.hostname}/binder`, {
      token: seller.token,
      headers: json,
    })
    expect(received.map(({ data }: any) => data.entryFiles)).toEqual(sent.map(({ data }: any) => data.entryFiles))
    expect(new Set(sent.map(({ data }: any) => data.entryFiles[0])).size).toBe(2)
    expect(received[0].data.entry).toEqual({ amount: 0.25, fromAddress: addressOf(payer.hostname), type: commodity.dq })
    expect(received[0].twistId).not.toBe(sent[0].twistId)
  })

  test('returns JSON to a caller who prefers it to CSV', async () => {
    const { at, payer, issuer, commodity, read } = await prepared()
    const { body, headers } = await read('', json)
    expect(headers.get('content-type')).toBe('application/json')
    const common = { twistId: expect.stringMatching(HASH), entryFiles: [expect.stringMatching(HASH)] }
    expect(body).toEqual([
      {
        twistId: common.twistId,
        timestamp: new Date(at + 1001).toISOString(),
        data: {
          entry: { amount: 0.25, fromAddress: '', type: commodity.dq },
          entryAuthor: addressOf(payer.hostname),
          entryFiles: common.entryFiles,
          entryOperation: 'send',
          entryType: 'payment',
        },
      },
      {
        twistId: common.twistId,
        timestamp: new Date(at).toISOString(),
        data: {
          entry: { amount: 1, fromAddress: issuer, type: commodity.dq },
          entryAuthor: issuer,
          entryFiles: common.entryFiles,
          entryOperation: 'receive',
          entryType: 'issue',
        },
      },
    ])
    expect((await read('', { accept: 'application/json, text/csv' })).body).toEqual(body)
    expect((await read('', { accept: 'text/csv, application/json' })).body).toBeUndefined()
  })

  test('filters by from and to, both inclusive, in seconds or ISO 8601', async () => {
    const { at, read } = await prepared()
    const actions = async (query: string) => (await read(query, json)).body.map(({ data }: any) => data.entryOperation)
    const iso = (ms: number) => new Date(ms).toISOString()
    const second = at / 1000
    expect(await actions(`?from=${second}&to=${second + 1}`)).toEqual(['send', 'receive'])
    expect(await actions(`?to=${second}`)).toEqual(['receive'])
    expect(await actions(`?from=${second + 1}`)).toEqual(['send'])
    expect(await actions(`?from=${second + 2}`)).toEqual([])
    expect(await actions(`?to=${second - 1}`)).toEqual([])
    expect(await actions(`?from=${iso(at + 1001)}`)).toEqual(['send'])
    expect(await actions(`?from=${iso(at + 1002)}`)).toEqual([])
    expect(await actions(`?to=${iso(at + 1001)}`)).toEqual(['send', 'receive'])
    expect(await actions(`?to=${iso(at + 1000)}`)).toEqual(['receive'])
    expect(
      await actions(`?from=${iso(at).slice(0, 10)}&to=${encodeURIComponent(iso(at).replace('Z', '+00:00'))}`),
    ).toEqual(['receive'])
    expect(await actions(`?from=${second + 1}&to=${second}`)).toEqual([])
  })

  test('refuses an invalid time by its field before it sends anything', async () => {
    const { read } = await prepared()
    for (const field of ['from', 'to'])
      for (const time of ['', 'yesterday', '-5', '1.5', '2031-13-01', '12:00', '99999999999999999999']) {
        const refused = await read(`?${field}=${time}`)
        expectProblem(refused, 400, 'field_invalid')
        expect(refused.body.field).toBe(field)
      }
  })

  test('lists received delegates among the movements, without a quantity or an amount', async () => {
    const { call, at, seller, payer, commodity, read } = await prepared()
    const persona = await newPersona(call, seller)
    const given = { persona: persona.hash, hostname: payer.hostname }
    const { hash } = await newDelegate(call, seller, given)
    await advance(call, '1s')
    await pay(call, payer, commodity)
    await call('DELETE', `/v4/persona/${persona.hash}/delegates/${hash}`, { token: seller.token })
    const lines = linesOf((await read()).text).slice(1)
    expect(lines.map((line) => line.split(',')[1])).toEqual(['send', 'send', 'receive', 'receive'])
    expect(lines[2]?.split(',')).toEqual([
      new Date(at + 1001).toISOString(),
      'receive',
      hash,
      '',
      '',
      addressOf(persona.hostname),
      '',
    ])
    const { body } = await read('', json)
    expect(body[2]).toEqual({
      twistId: expect.stringMatching(HASH),
      timestamp: new Date(at + 1001).toISOString(),
      data: {
        entry: { amount: null, fromAddress: addressOf(persona.hostname), type: '' },
        entryAuthor: addressOf(persona.hostname),
        entryFiles: [hash],
        entryOperation: 'receive',
        entryType: 'delegate',
      },
    })
    const kinds = async (query: string) => (await read(query, json)).body.map(({ data }: any) => data.entryType)
    expect(await kinds(`?to=${new Date(at + 1001).toISOString()}`)).toEqual(['payment', 'delegate', 'issue'])
    expect(await kinds(`?to=${new Date(at + 1000).toISOString()}`)).toEqual(['issue'])
    expect(await kinds(`?from=${new Date(at + 1001).toISOString()}`)).toEqual(['payment', 'payment', 'delegate'])
    const { text } = await call('GET', `/v4/twin/${persona.hostname}/binder`, { token: seller.token })
    expect(text).not.toContain(hash)
  })

  test('streams delegates among movements, whole and in order', async () => {
    const { call } = await start()
    const { snapshot, seller, hostname, expected } = await delegatesAmongMovements()
    expect((await call('PUT', '/_sandbox/snapshot', { body: snapshot })).status).toBe(204)
    const { body } = await call('GET', `/v4/twin/${hostname}/binder`, { token: seller.token, headers: json })
    const told = body.map(({ data }: any) => (data.entry.amount === null ? data.entryFiles[0] : `${data.entry.amount}`))
    expect(told).toEqual(expected)
    expect(new Set(body.map(({ twistId }: any) => twistId)).size).toBe(500)
  })

  test('can be read by id, and is empty for an unused twin', { tags: 'everywhere' }, async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    const { id } = await newTwin(call, token)
    expect((await call('GET', `/v4/twin/${id}/binder`, { token })).text).toBe(`${HEADER}\n`)
    expect((await call('GET', `/v4/twin/${id}/binder`, { token, headers: json })).body).toEqual([])
  })

  test('shows the 3, 0 or 9 decimals of the digital quantity', async () => {
    const quantities = [
      { name: 'Points', shortcode: 'PTS', decimals: 0 },
      { name: 'Nano', shortcode: 'NAN', decimals: 9 },
    ]
    const { call } = await start({ seed: { digital_quantities: quantities } })
    const { token } = await newSeller(call)
    const { hostname } = await newTwin(call, token)
    const [, points, nano] = (await call('GET', '/v4/dq')).body.digital_quantities
    await fund(call, hostname, 0.001)
    await fund(call, hostname, 9007199254740991, points)
    await fund(call, hostname, 0.000000001, nano)
    const { text } = await call('GET', `/v4/twin/${hostname}/binder`, { token })
    expect(
      linesOf(text)
        .slice(1)
        .map((line) => line.split(',')[4]),
    ).toEqual(['0.000000001', '9007199254740991', '0.001'])
  })

  test("shows a twin's binder and inventory only to its owner", async () => {
    const { call, payer, seller } = await prepared()
    const [{ id }] = (await call('GET', '/v4/twins', { token: payer.token })).body.twins
    for (const part of ['binder', 'inventory']) {
      const read = (name: string | number) => call('GET', `/v4/twin/${name}/${part}`, { token: seller.token })
      expectProblem(await read(payer.hostname), 403, 'not_owner')
      expectProblem(await read('nobody.twin.localhost'), 404, 'not_found')
      expect((await read(id)).text).toBe((await read(999999)).text)
      expectProblem(await read(id), 404, 'not_found')
      expectProblem(await call('GET', `/v4/twin/${payer.hostname}/${part}`), 401, 'authorization_missing')
    }
  })

  test('streams a binder of any length, whole and in order', { tags: 'everywhere' }, async () => {
    const { call, url, fetch } = await start()
    const { snapshot, token, hostname, newestFirst } = await manyMovements()
    expect(new Set(newestFirst).size).toBe(1050)
    expect((await call('PUT', '/_sandbox/snapshot', { body: snapshot })).status).toBe(204)

    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(new Request(`${url}/v4/twin/${hostname}/binder`, { headers }))
    expect(response.headers.get('content-length')).toBeNull()
    const pieces: string[] = []
    const decoder = new TextDecoder()
    for await (const piece of response.body as ReadableStream<Uint8Array>)
      pieces.push(decoder.decode(piece, { stream: true }))
    const records = linesOf(pieces.join('')).slice(1)
    expect(records.map((record) => Number(record.split(',')[4]))).toEqual(newestFirst)
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(pieces.join('').length / 2)

    const { body } = await call('GET', `/v4/twin/${hostname}/binder`, { token, headers: json })
    expect(body.map(({ data }: any) => data.entry.amount)).toEqual(newestFirst)
  })

  test('answers HEAD with the headers alone', { tags: 'everywhere' }, async () => {
    const { call, payer } = await prepared()
    const { status, text, headers } = await call('HEAD', `/v4/twin/${payer.hostname}/binder`, { token: payer.token })
    expect([status, text, headers.get('content-type')]).toEqual([200, '', 'text/csv; charset=utf-8'])
  })
})

test('CSV escapes the cells that a spreadsheet would read as a formula, except numbers', async () => {
  const cells = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', 'a=1', 'a,b', 'say "x"', -1.5, 0]
  async function* pieces() {
    yield cells.map((cell) => ({ cell }))
  }
  const { body } = csvReply(['cell'], pieces())
  expect(linesOf(await new Response(body).text())).toEqual([
    'cell',
    "'=1+1",
    "'+1",
    "'-1",
    "'@SUM(A1)",
    "'\t=1",
    'a=1',
    '"a,b"',
    '"say ""x"""',
    '-1.5',
    '0',
  ])
})
