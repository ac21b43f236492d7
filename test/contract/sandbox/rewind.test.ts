import { expect, test } from 'vitest'
import type { ContractOptions } from '../../runtimes/runtime.js'
import { contract } from '../../support/contract/contract.js'
import { expectProblem, expectSoundLedger } from '../../support/scenes/market.js'
import { balanceOf, newCommodity, newPayer, newSeller } from '../../support/scenes/world.js'

contract(
  'saveNamedState, listNamedStates, compareNamedStates, exportNamedState, removeNamedState and rewindSandbox',
  (start) => {
    async function market(options?: ContractOptions) {
      const running = await start(options)
      const { call } = running
      const seller = await newSeller(call)
      const { hash } = await newCommodity(call, seller)
      const payer = await newPayer(call, seller, { balance: 5 })
      const pay = () => call('POST', `/v4/payment/${hash}`, { token: payer.token })
      const balance = () => balanceOf(call, payer.token, payer.hostname)
      const save = (name: string, note?: string) =>
        call('POST', '/_sandbox/snapshots', { body: { name, ...(note !== undefined && { note }) } })
      return { ...running, seller, payer, pay, balance, save }
    }

    test('name states, tell how they differ, and return to them with clock and key', {
      tags: 'everywhere',
    }, async () => {
      const { call, seller, payer, pay, balance, save } = await market()
      await call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
      await call('POST', '/_sandbox/clock', { body: { advance: '10m' } })
      const clock = (await call('GET', '/_sandbox/clock')).body
      const saved = await save('before', 'nobody has paid')
      expect([saved.status, saved.body]).toMatchObject([
        201,
        { name: 'before', note: 'nobody has paid', at: clock.now },
      ])
      expectProblem(await save('before'), 409, 'already_exists')
      const whole = (await call('GET', '/_sandbox/snapshot')).body
      expect((await call('GET', '/_sandbox/snapshots/before')).body).toEqual(whole)

      const { nonce } = (await pay()).body
      await call('POST', '/_sandbox/clock', { body: { advance: '20m' } })
      const differing = await call('GET', '/_sandbox/snapshots/before/compare/current')
      expect(differing.status).toBe(200)
      expect(differing.body.balances).toEqual(
        expect.arrayContaining([{ hostname: payer.hostname, dq: expect.any(String), was: 5, is: 4.75 }]),
      )
      expect(differing.body.rows.movements).toMatchObject({
        added: [{ kind: 'payment' }],
        removed: [],
        changed: [],
        more: 0,
      })
      for (const secret of [nonce, payer.token, payer.clientSecret, seller.clientSecret])
        expect(differing.text).not.toContain(secret)
      expect((await call('GET', '/_sandbox/snapshots/before/compare/before')).body).toEqual({ rows: {}, balances: [] })

      expect((await call('POST', '/_sandbox/rewind', { body: { to: 'before' } })).status).toBe(204)
      expect(await balance()).toBe(5)
      expect((await call('GET', '/_sandbox/clock')).body).toEqual(clock)
      expect((await call('GET', '/_sandbox/snapshots/before/compare/current')).body.balances).toEqual([])
      expect((await pay()).status).toBe(202)
      expect(await balance()).toBe(4.75)
      await expectSoundLedger(call)

      expect((await call('GET', '/_sandbox/snapshots')).body.snapshots).toEqual([saved.body])
      expect((await call('DELETE', '/_sandbox/snapshots/before')).status).toBe(204)
      expect((await call('GET', '/_sandbox/snapshots')).body.snapshots).toEqual([])
      expect(await balance()).toBe(4.75)
    })

    test('refuse what is unknown or invalid, and change nothing', async () => {
      const { call, save, pay, balance } = await market()
      await pay()
      for (const [method, path] of [
        ['GET', '/_sandbox/snapshots/none'],
        ['DELETE', '/_sandbox/snapshots/none'],
        ['GET', '/_sandbox/snapshots/none/compare/current'],
        ['GET', '/_sandbox/snapshots/current/compare/none'],
      ] as const)
        expectProblem(await call(method, path), 404, 'not_found')
      for (const to of ['none', 'req_none', 'current'])
        expectProblem(await call('POST', '/_sandbox/rewind', { body: { to } }), 404, 'not_found')
      for (const name of ['', 'current', 'req_1', '../x', 'a b', 'x'.repeat(65)])
        expectProblem(await save(name), 400, 'field_invalid')
      expectProblem(await call('POST', '/_sandbox/rewind', { body: {} }), 400, 'field_invalid')
      expectProblem(await call('POST', '/_sandbox/rewind', { body: { to: 'x', at: 1 } }), 400, 'field_invalid')
      expect(await balance()).toBe(4.75)
    })

    test('keep at most 100 snapshots, and a reset keeps them', async () => {
      const { call, save } = await market()
      for (let n = 0; n < 100; n++) expect((await save(`s${n}`)).status).toBe(201)
      expectProblem(await save('one-more'), 409, 'sandbox_full')
      await call('POST', '/_sandbox/reset')
      expect((await call('GET', '/_sandbox/snapshots')).body.snapshots).toHaveLength(100)
      expect((await call('POST', '/_sandbox/rewind', { body: { to: 's0' } })).status).toBe(204)
      expect((await call('GET', '/_sandbox/snapshots/s0/compare/current')).body.balances).toEqual([])
      await expectSoundLedger(call)
    })

    test('never give an id twice, so followers of events miss none', async () => {
      const { call, seller, pay, save } = await market()
      const ids = async (): Promise<number[]> =>
        (await call('GET', '/v4/events', { token: seller.token })).body.events.map(({ id }: { id: number }) => id)
      await pay()
      await save('once')
      const before = await ids()
      await pay()
      const newest = Math.max(...(await ids()))
      await call('POST', '/_sandbox/rewind', { body: { to: 'once' } })
      expect(await ids()).toEqual(before)
      await pay()
      expect(Math.max(...(await ids()))).toBeGreaterThan(newest)
    })

    test('return to the state after a request, also past a restored snapshot', { tags: 'everywhere' }, async () => {
      const { call, pay, balance } = await market()
      const paid = await pay()
      const id = paid.headers.get('x-request-id')
      const whole = (await call('GET', '/_sandbox/snapshot')).body
      await pay()
      await call('PUT', '/_sandbox/snapshot', { body: whole })
      await pay()
      expect((await call('POST', '/_sandbox/rewind', { body: { to: id } })).status).toBe(204)
      expect(await balance()).toBe(4.75)
      await pay()
      expect((await call('POST', '/_sandbox/rewind', { body: { to: id } })).status).toBe(204)
      expect(await balance()).toBe(4.75)
      await expectSoundLedger(call)
    })

    test('refuse a state that they no longer keep, and change nothing', async () => {
      const { call, save, pay, balance } = await market({ journal: { bytes: 20_000 } })
      const id = (await pay()).headers.get('x-request-id')
      await save('paid')
      await pay()
      for (let n = 0; n < 3; n++) await call('POST', '/_sandbox/rewind', { body: { to: 'paid' } })
      expect((await call('GET', `/_sandbox/requests/${id}`)).status).toBe(200)
      expectProblem(await call('POST', '/_sandbox/rewind', { body: { to: id } }), 409, 'rewind_refused')
      expect(await balance()).toBe(4.75)
      await expectSoundLedger(call)
    })

    test('return while payments run: each of them is whole or absent', async () => {
      const { call, pay, save, balance } = await market()
      await save('start')
      const paid = Array.from({ length: 8 }, pay)
      const rewound = call('POST', '/_sandbox/rewind', { body: { to: 'start' } })
      for (const answer of await Promise.all(paid)) expect(answer.status).toBe(202)
      expect((await rewound).status).toBe(204)
      expect(((5 - (await balance())) * 100) % 25).toBe(0)
      await expectSoundLedger(call)
    })
  },
)
