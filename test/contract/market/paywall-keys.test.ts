import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { advance, expectProblem, stopClock } from '../../support/scenes/market.js'
import {
  askedAuthorization,
  newMarket,
  newPage,
  paywall,
  setPhone,
  settledBalances,
} from '../../support/scenes/paywall.js'
import { useUpstream } from '../../support/scenes/upstream.js'

const upstream = useUpstream()

contract('callPaywall under an Idempotency-Key', (start) => {
  const keyed = (token: string, key = 'once') => ({ token, headers: { 'idempotency-key': key } })

  it('pays and calls once, and repeats its answer byte for byte', { tags: 'everywhere' }, async () => {
    const { call, fetch, url, made: market } = await startWith(start, newMarket)
    const caller = keyed(market.payer.token)
    for (const [n, path] of ['ok', 'bytes', 'pieces', 'status/500', 'status/404'].entries()) {
      upstream.requests.length = 0
      const ask = async () => {
        const headers = { 'content-type': 'application/json', authorization: `Bearer ${caller.token}` }
        const body = JSON.stringify({ amount: 1, destination: market.shop, serviceUrl: `${upstream.url}/${path}` })
        const sent = { method: 'POST', headers: { ...headers, 'idempotency-key': `key ${n}` }, body }
        const answer = await fetch(new Request(`${url}/v4/paywall`, sent))
        const bytes = [...new Uint8Array(await answer.arrayBuffer())]
        return { status: answer.status, id: answer.headers.get('x-payment-id'), bytes, headers: answer.headers }
      }
      const [first, again] = [await ask(), await ask()]
      expect(again.headers.get('idempotent-replayed')).toBe('true')
      expect({ ...again, headers: null }).toEqual({ ...first, headers: null })
      expect(upstream.requests).toHaveLength(1)
    }
    expect(await settledBalances(call, market)).toEqual([6, 4])
  })

  it('calls a failing endpoint once, and keeps the payment reversed', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const { call, made: market } = await startWith(start, newMarket)
    upstream.requests.length = 0
    const order = { amount: 1, destination: market.shop, serviceUrl: `${upstream.url}/truncated` }
    const answers = [
      await paywall(call, keyed(market.payer.token), order),
      await paywall(call, keyed(market.payer.token), order),
    ]
    for (const answer of answers) expectProblem(answer, 502, 'upstream_failed')
    expect(answers.map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true'])
    expect(upstream.requests).toHaveLength(1)
    expect(await settledBalances(call, market)).toEqual([10, 0])
  })

  it('one of twenty calls at once reaches the endpoint, and the others learn that it is in progress', async () => {
    const { call, made: market } = await startWith(start, newMarket)
    upstream.requests.length = 0
    const order = { amount: 1, destination: market.shop, serviceUrl: `${upstream.url}/slow` }
    const answers = await Promise.all(Array.from({ length: 20 }, () => paywall(call, keyed(market.payer.token), order)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    const others = answers.filter(({ status }) => status !== 200)
    for (const other of others) expectProblem(other, 409, 'idempotency_in_progress')
    expect(others[0]?.headers.get('retry-after')).toBe('1')
    expect(upstream.requests).toHaveLength(1)
    expect((await paywall(call, keyed(market.payer.token), order)).body).toEqual({ slow: true })
    expect(await settledBalances(call, market)).toEqual([9, 1])
  })

  it('does not store a refusal that moved nothing', async () => {
    const { call, made: market } = await startWith(start, newMarket)
    const { token } = market.payer
    const order = { amount: 11, destination: market.shop }
    const short = [await paywall(call, keyed(token), order), await paywall(call, keyed(token), order)]
    for (const answer of short) expectProblem(answer, 402, 'insufficient_funds')
    expect(short[1]?.headers.get('idempotent-replayed')).toBeNull()
    expectProblem(await paywall(call, keyed(token, 'two'), { amount: 0 }), 400, 'amount_invalid')
    expect((await paywall(call, keyed(token, 'two'), { amount: 1, destination: market.shop })).status).toBe(200)
    const other = await paywall(call, keyed(token, 'two'), { amount: 2, destination: market.shop })
    expectProblem(other, 422, 'idempotency_mismatch')
  })

  it('asks the user again after a timeout', async () => {
    const { call } = await start()
    await stopClock(call)
    const market = await newMarket(call)
    const page = await newPage(call, market, 'ignore')
    const caller = { ...page, headers: { ...page.headers, 'idempotency-key': 'once' } }
    const answer = paywall(call, caller, { amount: 0.5 })
    await askedAuthorization(call, market.payer)
    await advance(call, '30s')
    expectProblem(await answer, 408, 'approval_timeout')
    await setPhone(call, market.payer, 'approve')
    await advance(call, '2s')
    expect((await paywall(call, caller, { amount: 0.5 })).status).toBe(200)
    expect(await settledBalances(call, market)).toEqual([9.5, 0.5])
  })
})
