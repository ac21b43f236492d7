import { expect, test } from 'vitest'
import { VERSION } from '../../../src/base/version.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { readOpenMetrics, sampleIn } from '../../support/open-metrics.js'
import { pay } from '../../support/scenes/market.js'
import { newCommodity, newPayer, newSeller } from '../../support/scenes/world.js'

contract('readMetrics', (start) => {
  test('counts requests by operation and status, and leaves no entry in the journal', {
    tags: 'everywhere',
  }, async () => {
    const { call } = await start()
    const first = await call('POST', '/_sandbox/reset')
    await call('GET', '/v4/dq')
    await call('GET', '/v4/dq')
    await call('GET', '/v4/account')
    await call('GET', '/nowhere')
    const { status, headers, text } = await call('GET', '/metrics')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
    const count = (operation: string, answered: number) =>
      sampleIn(text, `farthing_requests_total{operation="${operation}",status="${answered}"}`)
    expect(count('listDigitalQuantities', 200)).toBe(2)
    expect(count('readAccount', 401)).toBe(1)
    expect(count('none', 404)).toBe(1)
    expect(sampleIn(text, 'farthing_request_duration_seconds_count{operation="listDigitalQuantities"}')).toBe(2)
    expect([...(readOpenMetrics(text).get('farthing_build')?.samples.keys() ?? [])]).toEqual([
      expect.stringContaining(`version="${VERSION}"`),
    ])
    const { requests } = (await call('GET', '/_sandbox/requests?limit=1000')).body
    expect(requests.map(({ path }: { path: string }) => path)).not.toContain('/metrics')
    expect(requests.at(-1).id).toBe(first.headers.get('x-request-id'))
    expect(sampleIn(text, 'farthing_journal_entries')).toBe(requests.length)
  })

  test('shows the last audit of the ledger', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const payer = await newPayer(call, seller, { balance: 5 })
    await pay(call, payer, await newCommodity(call, seller, { cost: 1 }))
    await call('GET', '/_sandbox/ledger')
    const { text } = await call('GET', '/metrics')
    expect(sampleIn(text, 'farthing_ledger_audit_ok')).toBe(1)
    expect(sampleIn(text, 'farthing_ledger_movements')).toBe(2)
  })

  test('tells work that is due from work that comes later', async () => {
    const { call } = await start()
    await call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
    const before = sampleIn((await call('GET', '/metrics')).text, 'farthing_timers{state="later"}') ?? 0
    const seller = await newSeller(call)
    const payer = await newPayer(call, seller, { balance: 5 })
    const body = { address: 'grace@example.test', amount: 1 }
    expect((await call('POST', '/v4/transfer', { token: payer.token, body })).status).toBe(201)
    const { text } = await call('GET', '/metrics')
    expect(sampleIn(text, 'farthing_timers{state="later"}')).toBeGreaterThan(before)
    expect(sampleIn(text, 'farthing_timers{state="due"}')).toBe(0)
    expect(sampleIn(text, 'farthing_timers_overdue_seconds')).toBe(0)
    expect(sampleIn(text, 'farthing_outbox{state="dead"}')).toBe(0)
  })

  test('has as many series however many paths, users and methods are sent', async () => {
    const { call } = await start()
    await call('GET', '/v4/payment/first')
    await call('GET', '/unknown')
    const seriesOf = (text: string) => [...readOpenMetrics(text).values()].flatMap(({ samples }) => [...samples.keys()])
    await call('GET', '/metrics')
    const before = seriesOf((await call('GET', '/metrics')).text)
    for (let n = 0; n < 50; n++) {
      await call('GET', `/v4/payment/other-${n}`, { token: `token-${n}` })
      await call('GET', `/unknown-${n}?user=${n}`)
    }
    const { text } = await call('GET', '/metrics')
    expect(
      seriesOf(text).filter((sample) => !before.includes(sample) && !sample.startsWith('farthing_ledger')),
    ).toEqual([])
    expect(text).not.toContain('other-1')
  })
})
