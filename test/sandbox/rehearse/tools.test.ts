import { describe, expect, onTestFinished, test } from 'vitest'
import { rehearse } from '../../../src/sandbox/rehearse/rehearse.js'
import { howMuch } from '../../support/how-much.js'
import { SLOW_MS } from './shop.js'
import { newToolShop, toolBuyers } from './tool-buyers.js'

async function rehearsed(buyer: keyof typeof toolBuyers) {
  const shop = await newToolShop()
  onTestFinished(() => shop.service.close())
  return rehearse(shop.service, toolBuyers[buyer](shop), { slowMs: SLOW_MS, runs: howMuch(20, 40) })
}

const named = {
  'by x402, signed anew for each try': /^eip3009:0x[0-9a-f]{64}$/,
  'by MPP, signed anew for each try': /^mpp:sha256:/,
} as const

describe('an agent that pays for a tool of MCP', () => {
  test.each(Object.entries(named))('%s, pays twice', async (buyer, form) => {
    const { findings, baseline } = await rehearsed(buyer as keyof typeof named)
    expect(findings.map(({ name, habit, plan }) => [name, habit, plan.map(({ kind }) => kind)])).toEqual([
      ['paid_twice', 'new_key_each_try', ['lost_after']],
    ])
    const [unpaid, paid] = baseline.calls
    expect([unpaid?.status, unpaid?.identifiers]).toEqual([402, []])
    expect(paid?.status).toBe(200)
    expect(paid?.identifiers).toContainEqual(expect.stringMatching(form))
    expect(paid?.item).toBe('/mcp/1 paid_weather {"city":"Oslo"}')
    expect(paid?.payer).toMatch(/^0x[0-9a-f]{40}$/)
  })

  test('by x402, with one payment for all tries, pays once', async () => {
    const { findings } = await rehearsed('by x402, with one payment for all tries')
    expect(findings.map(({ name, habit, plan }) => [name, habit, plan])).toEqual([])
  })
})
