import { expect, test } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { createService } from '../../../src/index.js'
import { caller } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { advance, fund, stopClock } from '../../support/scenes/market.js'
import { HASH, newDelegate, newPersona } from '../../support/scenes/personas.js'
import { addressOf, linesOf } from '../../support/scenes/statements.js'
import { newPayer, newSeller, newTwin } from '../../support/scenes/world.js'

const json = { accept: 'application/json' }

contract('readInventory', (start) => {
  for (const version of ['v4', 'v2'])
    test(`lists each balance with its issuer and the time of its last entry, under /${version}`, async () => {
      const { call } = await start({
        seed: { digital_quantities: [{ name: 'Points', shortcode: 'PTS', decimals: 0 }] },
      })
      const at = await stopClock(call)
      const { token } = await newSeller(call)
      const { hostname } = await newTwin(call, token)
      const [dollars, points] = (await call('GET', '/v4/dq')).body.digital_quantities
      for (const amount of [2, 3]) {
        await advance(call, '10m')
        await fund(call, hostname, amount, points)
      }
      const path = `/${version}/twin/${hostname}/inventory`
      const { body } = await call('GET', path, { token, headers: json })
      const record = {
        fileIdentity: expect.stringMatching(HASH),
        issuer: expect.stringMatching(/^41[0-9a-f]{30}\.twin\.localhost$/),
        integrity: 'valid',
      }
      const rows = [
        { ...record, fileType: dollars, amount: 0, timestamp: new Date(at).toISOString() },
        { ...record, fileType: points, amount: 5, timestamp: new Date(at + 1_200_000).toISOString() },
      ]
      expect(body).toHaveLength(2)
      expect(body).toEqual(expect.arrayContaining(rows))
      expect(body[0].issuer).not.toBe(body[1].issuer)
      expect(body[0].fileIdentity).not.toBe(body[1].fileIdentity)

      const csv = await call('GET', path, { token, headers: { accept: 'text/csv' } })
      expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
      const columns = ['fileIdentity', 'issuer', 'fileType', 'amount', 'integrity', 'timestamp']
      expect(linesOf(csv.text)).toEqual([
        columns.join(),
        ...body.map((row: any) => columns.map((name) => row[name]).join()),
      ])
    })

  test('lists the delegates that the twin holds, without revoked ones', {
    tags: 'everywhere',
  }, async () => {
    const { call } = await start()
    const at = await stopClock(call)
    const seller = await newSeller(call)
    const payer = await newPayer(call, seller)
    const persona = await newPersona(call, seller)
    const given = { persona: persona.hash, hostname: payer.hostname }
    const first = await newDelegate(call, seller, given)
    await advance(call, '1m')
    const second = await newDelegate(call, seller, given)
    const row = (fileIdentity: string, ms: number) => ({
      fileIdentity,
      issuer: persona.hostname,
      fileType: '',
      amount: null,
      integrity: 'valid',
      timestamp: new Date(ms).toISOString(),
    })
    const read = (headers: Record<string, string>) =>
      call('GET', `/v4/twin/${payer.hostname}/inventory`, { token: payer.token, headers })
    const { body } = await read(json)
    expect(body.slice(1)).toEqual([row(first.hash, at), row(second.hash, at + 60_000)])
    const cells = `${second.hash},${persona.hostname},,,valid,${new Date(at + 60_000).toISOString()}`
    expect(linesOf((await read({})).text)[3]).toBe(cells)
    await call('DELETE', `/v4/persona/${persona.hash}/delegates/${first.hash}`, { token: seller.token })
    expect((await read(json)).body.slice(1)).toEqual([row(second.hash, at + 60_000)])
  })

  test('names the issuer that the binder names', async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    const { id, hostname } = await newTwin(call, token)
    await fund(call, hostname, 1)
    const [held] = (await call('GET', `/v4/twin/${id}/inventory`, { token, headers: json })).body
    const [received] = (await call('GET', `/v4/twin/${id}/binder`, { token, headers: json })).body
    expect(received.data.entry.fromAddress).toEqual(addressOf(held.issuer))
  })
})

test('readInventory marks a balance that differs from its entries as broken, and a delegate that differs from its hash', async () => {
  const storage = memoryStorage()
  const service = createService({ sandbox: true, storage })
  const call = caller({ ...service, url: 'http://127.0.0.1:4242', state: () => storage.export() })
  const { token } = await newSeller(call)
  const { id, hostname } = await newTwin(call, token)
  await fund(call, hostname, 1)
  const { hash: persona } = await newPersona(call, { token })
  await newDelegate(call, { token }, { persona, hostname })
  const state = await storage.export()
  const balances = (state.rows.balances as any[]).map((row) => (row.twin_id === id ? { ...row, amount: '1001' } : row))
  const delegates = (state.rows.delegates as any[]).map((row) => ({ ...row, issue: 2 }))
  await storage.import({ ...state, rows: { ...state.rows, balances, delegates } })
  const [held, given] = (await call('GET', `/v4/twin/${id}/inventory`, { token, headers: json })).body
  expect([held.amount, held.integrity]).toEqual([1.001, 'broken'])
  expect(given.integrity).toBe('broken')
  await service.close()
})
