import { expect, test } from 'vitest'
import type { RehearsedCall, RehearsedPayment, RunRecord } from '../../../src/sandbox/rehearse/record.js'
import { type RehearsalStage, rehearseOn } from '../../../src/sandbox/rehearse/rehearse-stage.js'

/** A shop that is no sandbox: what it saw is all that the judge reads, as from a proxy. */

interface Seen {
  calls?: Partial<RehearsedCall>[]
  payments?: RehearsedPayment[]
}

const call = (given: Partial<RehearsedCall>, at: number): RehearsedCall => ({
  ...{ id: `call_${at}`, operation: 'settle', method: 'POST', path: '/settle', item: '/article', payer: '0xa' },
  ...{ identifiers: [], isSigned: false, statesPrice: true, shownPrices: {}, shownPayments: [], outcome: 'done' },
  ...{ status: 200, isKeySpent: false, contradicts: false },
  ...given,
})

const payment = (at: number, given: Partial<RehearsedPayment> = {}): RehearsedPayment => ({
  ...{ id: `payment:${at}`, call: `call_${at}`, item: '/article', payer: '0xa', amount: '100', status: 'posted' },
  ...given,
})

const record = ({ calls = [], payments = [] }: Seen): RunRecord => ({
  ...{
    calls: calls.map(call),
    payments,
    deliveries: [],
    ended: { isOk: true, result: 'article' },
    output: '',
    secrets: [],
  },
})

const nonce = (name: string) => ({ identifiers: [`eip3009:${name}`] })
const usual: Seen = { calls: [nonce('a')], payments: [payment(0)] }

/** `faulty`: what it sees when the first call meets an error. */
const shop = (faulty: Seen): RehearsalStage => ({
  run: async ([fault]) => record(fault?.kind === 'error_before' ? faulty : usual),
})

const pending = { outcome: 'pending', ...nonce('a') } as const
const cases: Readonly<Record<string, readonly [Seen, readonly (readonly string[])[]]>> = {
  'trusts 200 with `success: false`': [
    { calls: [{ outcome: 'refused', contradicts: true, ...nonce('a') }] },
    [['delivered_unpaid', 'trusts_the_status', 'likely']],
  ],
  'never polls': [
    { calls: [pending], payments: [payment(0, { status: 'pending' })] },
    [['left_pending', 'never_polls', 'certain']],
  ],
  'signs a new nonce while one is pending': [
    { calls: [pending, nonce('b')], payments: [payment(0), payment(1)] },
    [['paid_twice', 'signs_while_pending', 'certain']],
  ],
  'polls until it is settled': [
    { calls: [pending, { operation: 'status', method: 'GET', shownPayments: ['payment:0'] }], payments: [payment(0)] },
    [],
  ],
  'sends the same nonce again': [{ calls: [pending, nonce('a')], payments: [payment(0)] }, []],
}

test.each(Object.entries(cases))('judges a client that %s', async (_, [faulty, expected]) => {
  const { findings, runs } = await rehearseOn(shop(faulty), { runs: 60 })
  expect(findings.map(({ name, habit, sureness }) => [name, habit, sureness])).toEqual(expected)
  expect(runs).toBeLessThanOrEqual(60)
})
