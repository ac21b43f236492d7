import { expect, test } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { expectProblem } from '../../support/scenes/market.js'
import { newPayer, newSeller } from '../../support/scenes/world.js'

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
    const { call } = await start()
    const seller = await newSeller(call)
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

  test('refuse unknown collections and cursors, and hide those whose ids are credentials', async () => {
    const { call } = await start()
    expectProblem(await call('GET', '/_sandbox/rows/tokens'), 404, 'not_found')
    expectProblem(await call('GET', '/_sandbox/rows/nothing'), 404, 'not_found')
    expectProblem(await call('GET', '/_sandbox/rows/users?after=made-up'), 400, 'cursor_invalid')
  })
})
