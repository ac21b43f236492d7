import { expect, test } from 'vitest'
import type { Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import {
  BINDER_HEADER,
  type BinderLine,
  binderCsv,
  binderHash,
  binderLine,
  binderOf,
  CSV,
  sendBinder,
} from '../../support/scenes/binders.js'
import { expectProblem, expectSoundLedger, fund, pay } from '../../support/scenes/market.js'
import { newDelegate, newPersona } from '../../support/scenes/personas.js'
import { newCommodity, newPayer, newSeller, newTwin } from '../../support/scenes/world.js'

const dq = binderHash('dq', 1)
const [ada, ben] = [binderHash('twin', 1), binderHash('twin', 2)]
const at = Date.parse('2024-01-31T09:05:00.123Z')
const file = (n: number) => binderHash('file', n)

/** As the live service exports it: the newest row first, a received delegate without type and amount. */
const history: BinderLine[] = [
  { at: at + 4000, action: 'send', identity: file(5), dq, amount: '1.68', other: ben },
  { at: at + 3000, identity: file(4), other: ada },
  { at: at + 3000, identity: file(3), dq, amount: '0.5', other: ada },
  { at: at + 2000, action: 'send', identity: file(2), dq, amount: '1', other: ada },
  { at, identity: file(1), dq, amount: '7.42', other: ben },
]

/** An account's twin that nothing has happened to. */
async function emptyTwin(call: Call) {
  const { token } = await newSeller(call)
  return { token, ...(await newTwin(call, token)) }
}

/** A body that sends one text, and the next when it is told to. */
function slowBody(first: string) {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const send = (text: string) => writer.write(new TextEncoder().encode(text))
  send(first).catch(() => {})
  return {
    body: readable,
    end: async (text: string) => {
      await send(text)
      await writer.close()
    },
    breakOff: () => writer.abort(new Error('the connection is gone')),
  }
}

contract('importBinder', (start) => {
  test('gives a twin its history, with the times, hashes and addresses of the file', {
    tags: 'everywhere',
  }, async () => {
    const { call } = await start()
    const { token, hostname } = await emptyTwin(call)
    const { status, body } = await sendBinder(call, hostname, binderCsv(history))
    expect([status, body]).toEqual([
      201,
      {
        ...{ hostname, rows: 5, delegates: 1, stand_ins: 2 },
        digital_quantities: [{ dq, decimals: 3, is_new: true, opening: 0, balance: 5.24 }],
      },
    ])
    const rows = history.map(({ amount, ...line }) => binderLine({ ...line, ...(amount && { amount }) }))
    const [first, second, third, ...rest] = rows
    // Of one time, movements come before delegates.
    expect(await binderOf(call, token, hostname)).toBe([BINDER_HEADER, first, third, second, ...rest, ''].join('\n'))
    const twin = (await call('GET', `/v4/twin/${hostname}`, { token })).body
    expect(twin.balances[dq]).toBe(5.24)
    const { metadata } = (await call('GET', '/v4/dq')).body
    expect(metadata[dq]).toMatchObject({ shortcode: dq.slice(2, 10) })
    const inventory = (await call('GET', `/v4/twin/${hostname}/inventory`, { token, headers: { accept: 'text/csv' } }))
      .text
    expect(inventory).toContain(`,${dq},5.24,valid,${new Date(at + 4000).toISOString()}`)
    const { digital_quantities } = await expectSoundLedger(call)
    // Each counterpart has what the twin sent it, and the twin what it did not send on.
    expect(digital_quantities.at(-1)).toMatchObject({ dq, issued: 7.92, balances: 7.92 })
  })

  test('starts a truncated history with an issued opening balance', async () => {
    const { call } = await start()
    const { token, hostname } = await emptyTwin(call)
    const csv = binderCsv([
      { at: at + 3, identity: file(4), dq, amount: '5', other: ada },
      { at: at + 2, action: 'send', identity: file(3), dq, amount: '2.0040', other: ben },
      { at: at + 1, identity: file(2), dq, amount: '1', other: ada },
      { at, action: 'send', identity: file(1), dq, amount: '0.1', other: ben },
    ])
    const { body } = await sendBinder(call, hostname, csv)
    expect(body.digital_quantities).toEqual([{ dq, decimals: 3, is_new: true, opening: 1.104, balance: 5 }])
    const [, , , , , oldest] = (await binderOf(call, token, hostname)).split('\n')
    expect(oldest).toMatch(new RegExp(`^${new Date(at).toISOString()},receive,41\\w{64},${dq},1.104,`))
    await expectSoundLedger(call)
  })

  test('takes one file again at another time, and zeros after the last decimal', async () => {
    const { call } = await start()
    const { token, hostname } = await emptyTwin(call)
    const twice = { identity: file(1), dq, other: ada }
    const csv = binderCsv([
      { ...twice, at: at + 1, amount: '2.500000000000' },
      { ...twice, at, amount: '1' },
    ])
    const { status, body } = await sendBinder(call, hostname, csv)
    expect([status, body.digital_quantities]).toMatchObject([201, [{ decimals: 3, balance: 3.5 }]])
    expect((await binderOf(call, token, hostname)).split('\n')).toHaveLength(4)
  })

  test('names at most a hundred digital quantities', async () => {
    const { call } = await start()
    const { hostname } = await emptyTwin(call)
    const naming = (count: number) =>
      binderCsv(
        Array.from({ length: count }, (_, n) => ({
          ...{ at: at - n, identity: file(n), other: ada },
          ...{ dq: binderHash('dq', n), amount: '1' },
        })),
      )
    const refused = await sendBinder(call, hostname, naming(101))
    expectProblem(refused, 400, 'binder_invalid')
    expect(refused.body).toMatchObject({ line: 102, column: 'fileType' })
    expect((await sendBinder(call, hostname, naming(100))).body.digital_quantities).toHaveLength(100)
  })

  test('exports what it imported, row by row: export, import elsewhere, export', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const payer = await newPayer(call, seller)
    const commodity = await newCommodity(call, seller, { cost: 0.003 })
    const { hash: persona, hostname } = await newPersona(call, seller)
    await Promise.all(Array.from({ length: 120 }, (_, n) => fund(call, payer.hostname, n + 0.001)))
    await Promise.all(Array.from({ length: 120 }, () => pay(call, payer, commodity)))
    for (let n = 0; n < 3; n++) {
      await newDelegate(call, seller, { persona, hostname: payer.hostname })
      await newDelegate(call, seller, { persona, hostname })
    }
    const exported = await binderOf(call, payer.token, payer.hostname)

    const other = await start()
    const target = await emptyTwin(other.call)
    expect((await sendBinder(other.call, target.hostname, exported)).body).toMatchObject({ rows: 243, delegates: 3 })
    expect(await binderOf(other.call, target.token, target.hostname)).toBe(exported)
    await expectSoundLedger(other.call)

    // Here, the same addresses are the twins themselves, and the issuer is the issuer.
    const again = await emptyTwin(call)
    expect((await sendBinder(call, again.hostname, exported)).body).toMatchObject({ stand_ins: 0 })
    expect(await binderOf(call, again.token, again.hostname)).toBe(exported)
    await expectSoundLedger(call)
  })

  test('reads quoted cells, CRLF, columns in any order, and cells that were made safe for spreadsheets', async () => {
    const { call } = await start()
    const { token, hostname } = await emptyTwin(call)
    const header = BINDER_HEADER.split(',').reverse()
    const cells = [...binderLine({ at, identity: file(1), dq, amount: '1.5', other: ada }).split(',')].reverse()
    const csv = `\uFEFF${header.map((name) => `"${name}"`).join(',')}\r\n\r\n${cells.map((cell) => `"${cell}"`).join(',')}`
    expect((await sendBinder(call, hostname, csv)).body).toMatchObject({ rows: 1 })
    expect(await binderOf(call, token, hostname)).toBe(
      binderCsv([{ at, identity: file(1), dq, amount: '1.5', other: ada }]),
    )
    const { body } = await sendBinder(call, (await emptyTwin(call)).hostname, csv.replace('1.5', "'-1.5"))
    expect(body).toMatchObject({ line: 3, column: 'amount' })
    expect(body.error).toContain('not "-1.5"')
  })

  test('refuses a wrong cell by line and column, and imports nothing', { tags: 'everywhere' }, async () => {
    const { call, state } = await start()
    const { hostname } = await emptyTwin(call)
    const { digital_quantities: known } = (await call('GET', '/v4/dq')).body
    const good = history[0] as BinderLine
    const row = (change: Partial<BinderLine>) => binderLine({ ...good, ...change })
    const before = (await state()).rows
    const twins = before.twins as unknown as { hostname: string; address: string }[]
    const own = twins.find((twin) => twin.hostname === hostname)?.address ?? ''
    const received = { ...good, action: 'receive', identity: file(9) } as const
    const cases: [line: string, column: string | null, expected: string][] = [
      [row({}).replace('2024-01-31', '2024-02-30'), 'timestamp', 'an ISO 8601 time'],
      [row({}).replace('.123Z', '.1234Z'), 'timestamp', 'an ISO 8601 time'],
      [row({ at: at + 4001 }), 'timestamp', 'at or before that of line 2'],
      [row({}), 'fileIdentity', 'unlike that of an earlier line'],
      [row({ identity: file(9) }).replace(',send,', ',spend,'), 'fileAction', 'receive or send, not "spend"'],
      [row({ identity: `${file(9)}0` }), 'fileIdentity', 'a hash'],
      [row({ identity: `0${file(9)}` }), 'fileIdentity', 'a hash'],
      [row({ identity: 'x'.repeat(81) }), 'fileIdentity', `not "${'x'.repeat(80)}…"`],
      [row({ identity: file(9), other: own }), 'destinationAddress', 'the address of another twin'],
      [binderLine({ ...received, other: own }), 'fromAddress', 'the address of another twin'],
      [row({ identity: file(9), dq: 'USD' }), 'fileType', 'the hash of a digital quantity'],
      [row({ identity: file(9), dq: '' }), 'fileType', 'empty together with amount'],
      [row({ identity: file(9), amount: '' }), 'amount', 'a number with at most 9 decimals'],
      [row({ identity: file(9), amount: '-1' }), 'amount', 'not "-1"'],
      [row({ identity: file(9), amount: '1e3' }), 'amount', 'not "1e3"'],
      [row({ identity: file(9), amount: '0.000' }), 'amount', 'above zero'],
      [row({ identity: file(9), amount: '0.0000000001' }), 'amount', 'at most 9 decimals'],
      [row({ identity: file(9), amount: '9007199254740992' }), 'amount', 'too much'],
      [row({ identity: file(9), dq: known[0], amount: '0.0005' }), 'amount', 'at most 3 decimals'],
      [row({ identity: file(9), dq: known[0], amount: '9007199254740' }), 'amount', 'too much'],
      [row({ identity: file(9), other: '' }), 'destinationAddress', 'an address'],
      [row({ identity: file(9), other: hostname }), 'destinationAddress', 'an address'],
      [row({ identity: file(9) }).replace(',,', ',me,'), 'fromAddress', 'or empty'],
      [`${row({ identity: file(9) })},more`, null, 'as many cells as the header'],
      [`${row({ identity: file(9) })}"`, null, 'quotes around the whole cell'],
      [row({ identity: file(9) }).replace(',send,', ',"send,'), null, 'close its quote'],
      ['"'.concat('x'.repeat(70_000)), null, 'shorter than'],
    ]
    for (const [line, column, expected] of cases) {
      const answer = await sendBinder(call, hostname, binderCsv([good, line]))
      expectProblem(answer, 400, 'binder_invalid')
      expect([line, answer.body.line, answer.body.column]).toEqual([line, 3, column])
      expect(answer.body.error).toContain(expected)
    }
    for (const [header, expected] of [
      ['', 'must name the columns timestamp, fileAction'],
      ['when,what', 'must name the column timestamp'],
      [BINDER_HEADER.replace('amount', 'fileType'), 'must name the column amount'],
      [`${BINDER_HEADER},more`, 'must not name the column "more"'],
      [`${BINDER_HEADER},amount`, 'must not name the column "amount", or not twice'],
    ] as const) {
      const answer = await sendBinder(call, hostname, header)
      expectProblem(answer, 400, 'binder_invalid')
      expect([answer.body.line, answer.body.column]).toEqual([1, null])
      expect(answer.body.error).toContain(expected)
    }
    expect((await state()).rows).toEqual(before)
    await sendBinder(call, hostname, binderCsv(history)).then(({ status }) => expect(status).toBe(201))
  })

  test('refuses a row at the end of a long file, and imports nothing', async () => {
    const { call, state } = await start()
    const { hostname, token } = await emptyTwin(call)
    const before = (await state()).rows
    const lines = Array.from({ length: 1200 }, (_, n) => ({
      at: at - n,
      identity: file(n),
      dq,
      amount: '1',
      other: ada,
    }))
    const answer = await sendBinder(call, hostname, binderCsv([...lines, binderLine(lines[0] as BinderLine)]))
    expectProblem(answer, 400, 'binder_invalid')
    expect(answer.body.line).toBe(1202)
    expect((await state()).rows).toEqual(before)
    expect(await binderOf(call, token, hostname)).toBe(`${BINDER_HEADER}\n`)
  })

  test('refuses a body of another type, that is too large, or that is not UTF-8', { tags: 'everywhere' }, async () => {
    const { call } = await start({ limits: { binderBytes: 1000 } })
    const { hostname } = await emptyTwin(call)
    const path = `/_sandbox/twins/${hostname}/binder`
    const raw = binderCsv(history)
    expectProblem(
      await call('POST', path, { raw, headers: { 'content-type': 'text/plain' } }),
      415,
      'content_type_refused',
    )
    expectProblem(await call('POST', path, { raw, headers: CSV }), 413, 'body_too_large')
    const bytes = Uint8Array.from([...new TextEncoder().encode(BINDER_HEADER), 10, 0xff, 0xfe])
    expectProblem(await call('POST', path, { raw: bytes, headers: CSV }), 400, 'body_malformed')
    const charset = { 'content-type': 'Text/CSV; charset=utf-8' }
    expect((await call('POST', path, { raw: BINDER_HEADER, headers: charset })).body).toMatchObject({ rows: 0 })
  })

  test('refuses a twin that is unknown, that has a history, or that belongs to nobody', async () => {
    const { call, state } = await start()
    const csv = binderCsv(history)
    expectProblem(await sendBinder(call, 'nobody.twin.localhost', csv), 404, 'not_found')
    expectProblem(await sendBinder(call, 'a%ff.twin.localhost', csv), 400, 'path_malformed')
    const { hostname } = await emptyTwin(call)
    await fund(call, hostname, 1)
    expectProblem(await sendBinder(call, hostname, csv), 409, 'binder_refused')
    const twice = await emptyTwin(call)
    const onlyDelegate = binderCsv([{ at, identity: file(1), other: ada }])
    for (const text of [onlyDelegate, csv]) {
      const { status } = await sendBinder(call, twice.hostname, text)
      expect(status).toBe(text === csv ? 409 : 201)
    }
    const { hostname: issuer } = ((await state()).rows.twins as unknown as { owner: string; hostname: string }[]).find(
      ({ owner }) => owner.startsWith('issuer:'),
    ) ?? { hostname: '' }
    expectProblem(await sendBinder(call, issuer, csv), 409, 'binder_refused')
  })

  test('imports into a twin to which a stranger gave delegates, and lists both', async () => {
    const { call } = await start()
    const { hostname, token } = await emptyTwin(call)
    const stranger = await newSeller(call)
    const persona = await newPersona(call, stranger)
    const { hash } = await newDelegate(call, stranger, { persona: persona.hash, hostname })
    expect((await sendBinder(call, hostname, binderCsv(history))).status).toBe(201)
    const listed = await binderOf(call, token, hostname)
    for (const identity of [hash, file(1)]) expect(listed).toContain(identity)
    expectProblem(await sendBinder(call, hostname, binderCsv(history)), 409, 'binder_refused')
  })

  test('refuses a second import into the same twin, and one that is broken off or overtaken', async () => {
    const { call, state } = await start()
    const lines = binderCsv(history).split('\n')
    const begin = async () => {
      const { hostname, token } = await emptyTwin(call)
      const { body: raw, end, breakOff } = slowBody(`${lines.slice(0, 3).join('\n')}\n`)
      const answer = call('POST', `/_sandbox/twins/${hostname}/binder`, { raw, headers: CSV })
      // A second import that came first would win.
      const isBegun = expect.objectContaining({ state: 'checking' })
      await expect.poll(async () => (await state()).rows.binder_imports ?? []).toContainEqual(isBegun)
      const second = await sendBinder(call, hostname, `${BINDER_HEADER}\nwrong`)
      expectProblem(second, 409, 'import_in_progress')
      return { hostname, token, answer, breakOff, end: () => end(lines.slice(3).join('\n')) }
    }
    const paid = await begin()
    await fund(call, paid.hostname, 1)
    await paid.end()
    expectProblem(await paid.answer, 409, 'binder_refused')
    expect((await binderOf(call, paid.token, paid.hostname)).split('\n')).toHaveLength(3)

    const first = await begin()
    await first.end()
    expect((await first.answer).status).toBe(201)
    await expectSoundLedger(call)

    const broken = await begin()
    await broken.breakOff()
    // A client on the network gets no answer then.
    await broken.answer.then(
      (answer) => expectProblem(answer, 400, 'body_malformed'),
      () => {},
    )
    await expect.poll(async () => (await sendBinder(call, broken.hostname, lines.join('\n'))).status).toBe(201)
    await expectSoundLedger(call)

    const reset = await begin()
    await call('POST', '/_sandbox/reset')
    await reset.end()
    expectProblem(await reset.answer, 409, 'import_ended')
    await expectSoundLedger(call)
  })
})
