import { expect, test } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { expectProblem } from '../../support/scenes/market.js'
import { newCommodity, newPayer, newSeller } from '../../support/scenes/world.js'

contract('readCredentials, listCollections and listRows', (start) => {
  test('show what was seeded, without its secrets', { tags: ['everywhere'] }, async () => {
    const { call } = await start()
    const seed = { accounts: [{ name: 'Quokka Press' }], users: [{ email: 'mia@example.test', balance: 1 }] }
    const { accounts, users } = (await call('POST', '/_sandbox/seed', { body: seed })).body
    const known = (await call('GET', '/_sandbox/credentials')).body
    expect(known.accounts).toContainEqual({
      name: 'Quokka Press',
      public_secret: accounts[0].public_secret,
      client_id: accounts[0].client_id,
      client_secret: accounts[0].client_secret,
    })
    expect(known.users).toContainEqual(expect.objectContaining({ client_secret: users[0].client_secret }))
    const { collections } = (await call('GET', '/_sandbox/rows')).body
    expect(collections).toContainEqual({ name: 'payments', refs: expect.objectContaining({ payer_twin_id: 'twins' }) })
    const clients = (await call('GET', '/_sandbox/rows/clients')).body.rows
    expect(clients).toContainEqual(expect.objectContaining({ id: users[0].client_id, secret_digest: '…' }))
    expect(JSON.stringify(clients)).not.toContain(users[0].client_secret)
  })

  test('find rows by a text and by a field, newest first, in pages', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    for (const email of ['ada', 'bob', 'eve']) await newPayer(call, seller, { email: `${email}@rows.test` })
    const emails = async (query: string) => {
      const { rows, next } = (await call('GET', `/_sandbox/rows/users?${query}`)).body
      return [rows.map(({ email }: { email: string }) => email), next]
    }
    const [found, next] = await emails('q=@ROWS.test&limit=2')
    expect(found).toEqual(['eve@rows.test', 'bob@rows.test'])
    expect(await emails(`q=@rows.test&limit=2&after=${next}`)).toEqual([['ada@rows.test'], null])
    expect(await emails('field=email&value=bob@rows.test')).toEqual([['bob@rows.test'], null])
    const { rows } = (await call('GET', '/_sandbox/rows/users?q=ada@rows.test')).body
    expect(await emails(`field=id&value=${rows[0].id}`)).toEqual([['ada@rows.test'], null])
  })

  test('find the entries of one wallet by its own index, newest first, in pages', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const wallets = []
    for (const email of ['ada', 'bob'])
      wallets.push(await newPayer(call, seller, { email: `${email}@rows.test`, balance: 1 }))
    const [{ hostname } = { hostname: '' }] = wallets
    for (const amount of [2, 3]) await call('POST', '/_sandbox/fund', { body: { hostname, amount } })
    const [twin] = (await call('GET', `/_sandbox/rows/twins?q=${hostname}`)).body.rows
    const page = async (after = '') =>
      (await call('GET', `/_sandbox/rows/entries?field=twin_id&value=${twin.id}&limit=2${after}`)).body
    const first = await page()
    const second = await page(`&after=${first.next}`)
    const ids = [...first.rows, ...second.rows].map(({ id }: { id: number }) => id)
    expect(first.rows).toHaveLength(2)
    expect(second.rows).toHaveLength(1)
    expect(second.next).toBeNull()
    expect(ids).toEqual([...ids].sort((a, b) => b - a))
    expect([...first.rows, ...second.rows].every(({ twin_id }: { twin_id: number }) => twin_id === twin.id)).toBe(true)
  })

  test('refuse unknown collections and cursors, and hide those whose ids are credentials', async () => {
    const { call } = await start()
    expectProblem(await call('GET', '/_sandbox/rows/tokens'), 404, 'not_found')
    expectProblem(await call('GET', '/_sandbox/rows/nothing'), 404, 'not_found')
    expectProblem(await call('GET', '/_sandbox/rows/users?after=made-up'), 400, 'cursor_invalid')
  })
})

contract('actAsCaller and updateCommodity', (start) => {
  test('change a price between the quote and the payment, as a caller without known credentials', {
    tags: ['everywhere'],
  }, async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const payer = await newPayer(call, seller, { balance: 5 })
    const article = await newCommodity(call, seller, { cost: 1 })
    const { headers } = (await call('POST', '/_sandbox/act-as', { body: { principal: `user:${payer.id}` } })).body
    const pay = (cost: number) => call('POST', `/v4/payment/${article.hash}`, { body: { cost }, headers })
    const path = `/_sandbox/commodities/${article.hash}`
    const changed = await call('PUT', path, { body: { cost: 2, descriptor: 'NEW.NAME' } })
    expect(changed.body).toMatchObject({ hash: article.hash, cost: 2, descriptor: 'NEW.NAME' })
    expectProblem(await call('PUT', path, { body: { cost: 2.0005 } }), 400, 'amount_invalid')
    expectProblem(await pay(1), 409, 'price_changed')
    expect((await pay(2)).body).toMatchObject({ amount: 2, descriptor: 'NEW.NAME' })
    expectProblem(await call('POST', '/_sandbox/act-as', { body: { principal: 'user:999' } }), 404, 'not_found')
    expectProblem(await call('PUT', `/_sandbox/commodities/${'0'.repeat(36)}`, { body: { cost: 1 } }), 404, 'not_found')
  })
})
