import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { expectProblem, expectSoundLedger, fund, readPages, UNKNOWN_DQ } from '../../support/scenes/market.js'
import { newAgent } from '../../support/scenes/oidc.js'
import { INVITED, newSender, send, transferEvents, typesOf, walletOf } from '../../support/scenes/transfers.js'
import { balanceOf, newPayer, newReader, newSeller, newTwin } from '../../support/scenes/world.js'

const json = { accept: 'application/json' }

contract('createTransfer', (start) => {
  it('POST /v4/transfer moves value to a wallet at once, and shows both sides the same', async () => {
    const { call, at, seller, payer } = await newSender(start)
    const payee = await newPayer(call, seller)
    const sent = await send(call, payer, { address: payee.hostname, amount: 2.5, memo: ' For lunch ' })
    expect(sent.status).toBe(201)
    expect(sent.body).toEqual({
      id: expect.any(Number),
      status: 'completed',
      amount: 2.5,
      dq: expect.stringMatching(/^41[0-9a-f]{64}$/),
      hostname: payer.hostname,
      address: payee.hostname,
      memo: 'For lunch',
      expires_at: null,
      created_at: at / 1000,
    })
    expect(sent.headers.get('cache-control')).toBe('private, no-store')
    for (const { token } of [payer, payee])
      expect((await call('GET', `/v4/transfers/${sent.body.id}`, { token })).body).toEqual(sent.body)
    expect([await walletOf(call, payer), await walletOf(call, payee)]).toEqual([7.5, 2.5])
    const { body } = await call('GET', `/v4/twin/${payee.hostname}/binder`, { token: payee.token, headers: json })
    expect(body[0].data).toMatchObject({ entryType: 'transfer', entryOperation: 'receive' })
    await expectSoundLedger(call)
  })

  it("accepts a twin's hostname, its URL with or without a scheme, or its user's email in any case", async () => {
    const { call, seller, payer } = await newSender(start)
    const { hostname, ...payee } = await newReader(call, seller, { email: 'payee@example.test' })
    const addresses = [
      [hostname, hostname],
      [` ${hostname.toUpperCase()} `, hostname],
      [`https://${hostname}`, hostname],
      [`http://${hostname}:8080/path?query#fragment`, hostname],
      [`${hostname}/path@somewhere`.replace('@', '%40'), hostname],
      ['payee@example.test', 'payee@example.test'],
      [' Payee@Example.TEST ', 'payee@example.test'],
    ] as const
    for (const [address, shown] of addresses) {
      const { status, body } = await send(call, payer, { address, amount: 0.001 })
      expect([status, body.status, body.address]).toEqual([201, 'completed', shown])
    }
    expect(await walletOf(call, payee)).toBe(0.007)
  })

  it('accepts the whole address of a twin, as its counterpart reads it in a binder', async () => {
    const { call, seller, payer } = await newSender(start)
    const payee = await newPayer(call, seller)
    await send(call, payer, { address: payee.hostname, amount: 1 })
    const { body } = await call('GET', `/v4/twin/${payee.hostname}/binder`, { token: payee.token, headers: json })
    const address: string = body[0].data.entry.fromAddress
    for (const named of [address, ` ${address.toUpperCase()} `, `https://${address}/`]) {
      const back = await send(call, payee, { address: named, amount: 0.1 })
      expect([back.status, back.body.address]).toEqual([201, payer.hostname])
    }
    expect(await walletOf(call, payee)).toBe(0.7)
    const unknown = `${address.slice(0, -1)}${address.endsWith('0') ? '1' : '0'}`
    for (const named of [unknown, address.slice(0, 65), `${address}0`])
      expectProblem(await send(call, payee, { address: named, amount: 0.1 }), 404, 'not_found')
    expectProblem(await send(call, payer, { address, amount: 0.1 }), 422, 'same_twin')
  })

  it('sends from the primary twin of an account, or in a named digital quantity', async () => {
    const { call } = await start({ seed: { digital_quantities: [{ name: 'Points', shortcode: 'PTS', decimals: 0 }] } })
    const seller = await newSeller(call)
    const payee = await newReader(call, seller)
    const first = await newTwin(call, seller.token)
    await newTwin(call, seller.token)
    const [dq, points] = (await call('GET', '/v4/dq')).body.digital_quantities
    await fund(call, first.hostname, 1)
    await fund(call, first.hostname, 5, points)
    const sent = (await send(call, seller, { address: payee.hostname, amount: 1 })).body
    expect([sent.dq, sent.hostname]).toEqual([dq, first.hostname])
    const sentPoints = (await send(call, seller, { address: payee.email, amount: 5, dq: points })).body
    expect([sentPoints.dq, sentPoints.amount]).toEqual([points, 5])
    expectProblem(await send(call, seller, { address: payee.email, amount: 0.5, dq: points }), 400, 'amount_invalid')
    const { twins } = (await call('GET', '/v4/twins', { token: payee.token })).body
    expect(twins[0].balances).toEqual({ [dq]: 1, [points]: 5 })
  })

  it('refuses impossible transfers, and changes nothing', async () => {
    const { call, state, seller, payer } = await newSender(start)
    const payee = await newPayer(call, seller)
    const own = await newTwin(call, payer.token)
    const before = (await state()).rows
    const address = payee.hostname
    for (const amount of [0, -1, 0.0001, 1e300])
      expectProblem(await send(call, payer, { address, amount }), 400, 'amount_invalid')
    expectProblem(await send(call, payer, { address, amount: 1, dq: UNKNOWN_DQ }), 400, 'dq_unknown')
    expectProblem(await send(call, payer, { address, amount: 10.001 }), 402, 'insufficient_funds')
    expectProblem(await send(call, payer, { address: INVITED, amount: 10.001 }), 402, 'insufficient_funds')
    for (const unknown of ['nobody.twin.localhost', 'https://example.test/', 'text', '12'])
      expectProblem(await send(call, payer, { address: unknown, amount: 1 }), 404, 'not_found')
    for (const same of [payer.hostname, `https://${payer.hostname}/`, payer.email])
      expectProblem(await send(call, payer, { address: same, amount: 1 }), 422, 'same_twin')
    for (const wrong of ['', 'two words', 'ada@', '@example.test', 'ada@example', 'ftp://example.test'])
      expect((await send(call, payer, { address: wrong, amount: 1 })).body.field).toBe('address')
    for (const memo of ['x'.repeat(141), 'a\nb', 'a\u0007', 'a\u2028b', 'txt.\u202egpj'])
      expect((await send(call, payer, { address, amount: 1, memo })).body.field).toBe('memo')
    expectProblem(await send(call, seller, { address, amount: 1 }), 402, 'insufficient_funds')
    expect((await state()).rows).toEqual(before)
    expect((await send(call, payer, { address: own.hostname, amount: 10, memo: '\u{1f600}'.repeat(140) })).status).toBe(
      201,
    )
  })

  it('refuses a transfer to the issuer, which would destroy the value', async () => {
    const { call, payer } = await newSender(start)
    const { body } = await call('GET', `/v4/twin/${payer.hostname}/binder`, { token: payer.token, headers: json })
    const issuer = body[0].data.entry.fromAddress as string
    for (const address of [issuer, `${issuer.slice(0, 32)}.twin.localhost`])
      expectProblem(await send(call, payer, { address, amount: 1 }), 404, 'not_found')
  })

  it('sends each side one event', async () => {
    const { call, seller, payer } = await newSender(start)
    const payee = await newPayer(call, seller)
    const { id, dq } = (await send(call, payer, { address: payee.hostname, amount: 2, memo: 'Thanks' })).body
    const [events, others] = [await transferEvents(call, payer), await transferEvents(call, payee)]
    expect(others).toEqual(events)
    expect(typesOf(events)).toEqual(['transfer.completed'])
    const { hostname } = payer
    expect(events[0]).toMatchObject({
      actor: `user:${payer.id}`,
      subject: `transfer:${id}`,
      data: { dq, amount: 2, hostname, address: payee.hostname, memo: 'Thanks' },
    })
  })

  it('requires an approval from an agent, and tells it what to request', async () => {
    const { call, payer } = await newSender(start)
    const agent = await newAgent(call, { email: payer.email })
    const sent = await send(call, { token: agent.accessToken }, { address: 'Ada@example.test', amount: 20 })
    expectProblem(sent, 403, 'approval_required')
    const dq = (await call('GET', '/v4/dq')).body.digital_quantities[0]
    expect(sent.body.approval).toEqual({ kind: 'transfer', address: INVITED, amount: 20, dq })
    const unknown = await send(call, { token: agent.accessToken }, { address: 'nobody.twin.localhost', amount: 1 })
    expectProblem(unknown, 404, 'not_found')
    expect(await walletOf(call, payer)).toBe(10)
  })
})

contract('listTransfers and readTransfer', (start) => {
  it("show only the caller's transfers, newest first, page by page", async () => {
    const { call, seller, payer } = await newSender(start)
    const payee = await newPayer(call, seller, { balance: 1 })
    const other = await newPayer(call, seller)
    const own = await newTwin(call, payer.token)
    const ids: number[] = []
    const sends = [
      [payer, payee.hostname],
      [payee, payer.hostname],
      [payer, own.hostname],
      [payer, INVITED],
      [payer, other.hostname],
    ] as const
    for (const [from, address] of sends) ids.unshift((await send(call, from, { address, amount: 0.5 })).body.id)
    const pages = async ({ token }: { token: string }, limit: number) =>
      (await readPages(call, '/v4/transfers', { plural: 'transfers', token, limit })).map((page) =>
        page.map(({ id }) => id),
      )
    expect(await pages(payer, 100)).toEqual([ids])
    expect(await pages(payer, 2)).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)])
    expect(await pages(payee, 1)).toEqual([[ids[3]], [ids[4]]])
    expect(await pages(other, 20)).toEqual([[ids[0]]])
    expect(await pages(seller, 20)).toEqual([[]])
    for (const after of [ids[1], 999999])
      expectProblem(await call('GET', `/v4/transfers?after=${after}`, { token: other.token }), 400, 'cursor_invalid')
    for (const { token } of [other, seller]) {
      const theirs = await call('GET', `/v4/transfers/${ids[1]}`, { token })
      expectProblem(theirs, 404, 'not_found')
      expect(theirs.text).toBe((await call('GET', '/v4/transfers/999999', { token })).text)
    }
  })

  it("refuses to overdraw the sender's twin, however many calls come at once", async () => {
    const { call, seller, payer } = await newSender(start, { balance: 1 })
    const payee = await newPayer(call, seller)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        send(call, payer, { address: n % 2 ? payee.hostname : `guest-${n}@example.test`, amount: 0.1 }),
      ),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10)
    expect(answers.filter(({ body }) => body.code === 'insufficient_funds')).toHaveLength(10)
    expect(await balanceOf(call, payer.token, payer.hostname)).toBe(0)
    await expectSoundLedger(call)
  })
})
