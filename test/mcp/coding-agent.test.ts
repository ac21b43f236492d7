import type { Client } from '@modelcontextprotocol/client'
import { expect, it, onTestFinished } from 'vitest'
import { createService } from '../../src/index.js'
import { caller } from '../support/api.js'
import { connect, done } from '../support/mcp/mcp.js'
import { changeItem, newItem } from '../support/scenes/catalog.js'
import { balanceOf, newPayer, newSeller } from '../support/scenes/world.js'

/**
 * A kiosk that shows a price and charges it. Its author wrote the price into the code, and the seller has changed it since.
 */
const KIOSK = `
const COST = 0.25
export async function sell({ article, reader, fetch }) {
  const headers = { authorization: 'Bearer ' + reader, 'content-type': 'application/json' }
  const body = JSON.stringify({ cost: COST })
  const paid = await fetch('/v4/payment/' + article, { method: 'POST', headers, body })
  if (paid.status !== 202) throw new Error('The kiosk could not sell its article.')
  return 'the article'
}
`

/** A kiosk that tries again when an answer is lost. Each try has a key of its own, so that a reader may pay for each. */
const RETRYING_KIOSK = `
export async function sell({ article, reader, fetch }) {
  for (let tries = 1; ; tries++) {
    const key = crypto.randomUUID()
    const headers = { authorization: 'Bearer ' + reader, 'idempotency-key': key }
    try {
      const paid = await fetch('/v4/payment/' + article, { method: 'POST', headers })
      if (paid.status !== 202) throw new Error('The kiosk could not sell its article.')
      return 'the article'
    } catch (error) {
      if (tries === 3) throw error
    }
  }
}
`

/** The kiosk as its source says at the moment. */
const run = async (source: string) =>
  (await import(`data:text/javascript,${encodeURIComponent(source)}`)) as {
    sell(order: { article: string; reader: string; fetch: typeof fetch }): Promise<string>
  }

/** The fields that a call must send otherwise, by what the tools say. */
function changesOf({ entry, fix }: any): [string, unknown, unknown][] {
  const sent: Record<string, unknown> = JSON.parse(entry.request)
  const wanted: Record<string, unknown> = fix.example.body
  return Object.keys(sent).flatMap((field) =>
    wanted[field] === sent[field] ? [] : [[field, sent[field], wanted[field]] as [string, unknown, unknown]],
  )
}

/** Fixes source as the last error says: it replaces the value that was sent by the value that the service wants. */
async function fix(tools: Client, source: string): Promise<{ source: string; failed: any }> {
  const failed = await done(tools, 'last_error')
  const changes = changesOf(failed)
  expect(changes, 'what the explanation changes').toHaveLength(1)
  const fixed = changes.reduce((text, [, was, is]) => text.replaceAll(` ${was}\n`, ` ${is}\n`), source)
  return { source: fixed, failed }
}

/** Puts a statement of the source above the loop that it is in. */
function aboveLoop(source: string, statement: string): string {
  const lines = source.split('\n')
  const at = lines.findIndex((line) => line.trim() === statement)
  const loop = lines.findLastIndex((line, i) => i < at && line.trim().startsWith('for '))
  expect(loop, 'a loop around the statement').toBeGreaterThanOrEqual(0)
  return [...lines.slice(0, loop), `  ${statement}`, ...lines.slice(loop, at), ...lines.slice(at + 1)].join('\n')
}

/** An article, a reader with 1, and the tools of the sandbox. */
async function start() {
  const service = createService({ sandbox: true })
  onTestFinished(() => service.close())
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const seller = await newSeller(call)
  const item = await newItem(call, seller)
  const payer = await newPayer(call, seller, { balance: 1 })
  const tools = await connect(
    { url: service.baseUrl, fetch: service.fetch },
    {
      path: '/_sandbox/mcp',
      token: 'none',
      era: '2026-07-28',
    },
  )
  onTestFinished(() => tools.close())
  const order = { article: item.commodity_hash, reader: payer.token, fetch: service.fetch as typeof fetch }
  return { call, seller, item, tools, order, balance: () => balanceOf(call, payer.token, payer.hostname) }
}

it('a scripted agent finds and fixes a stale price in a shop, with the tools alone', async () => {
  const { call, seller, item, tools, order, balance } = await start()
  expect((await changeItem(call, seller, item, { price: 0.3 })).status).toBe(200)

  const planted = await run(KIOSK)
  await expect(planted.sell(order)).rejects.toThrow('could not sell')
  const { source, failed } = await fix(tools, KIOSK)
  expect(failed).toMatchObject({ entry: { code: 'price_changed', status: 409 }, facts: { seen: 0.25, price: 0.3 } })
  const { results } = await done(tools, 'docs_search', { query: failed.entry.code, limit: 1 })
  expect(results).toMatchObject([{ kind: 'error', title: 'price_changed' }])
  expect(source).toContain('const COST = 0.3\n')

  const fixed = await run(source)
  expect(await fixed.sell(order)).toBe('the article')
  const { requests } = await done(tools, 'search_requests', { operation_id: 'createPayment' })
  expect(requests.map(({ status }: { status: number }) => status)).toEqual([202, 409])
  expect(await done(tools, 'replay_diff', { id: requests[0].id })).toMatchObject({ diff: [], effects: { same: true } })
  // The shop was wrong, not the service: it still refuses what the shop sent first.
  const still = await done(tools, 'replay_diff', { id: failed.entry.id })
  expect(still).toMatchObject({ entry: { status: 409, code: 'price_changed' }, diff: [] })
  expect(requests[0].caused.map(({ kind }: { kind: string }) => kind)).toContain('movement')
  expect(await done(tools, 'ledger')).toMatchObject({ ok: true })
  expect(await balance()).toBe(0.7)
})

it('a scripted agent finds and fixes a shop that charges twice when an answer is lost, with the tools alone', async () => {
  const { tools, order, balance } = await start()
  const payments = async (limit: number): Promise<any[]> =>
    (await done(tools, 'search_requests', { operation_id: 'createPayment', limit })).requests
  const sellWithLostAnswer = async (source: string) => {
    const lost = { match: { operation_id: 'createPayment' }, at: 'after_commit', do: { drop: true }, times: 1 }
    await done(tools, 'arm_fault', lost)
    expect(await (await run(source)).sell(order)).toBe('the article')
  }
  const { requests: before } = await done(tools, 'search_requests', { limit: 1 })

  // Nothing fails, so nobody would look.
  await sellWithLostAnswer(RETRYING_KIOSK)
  const [second, first] = await payments(2)
  expect([first.status, second.status]).toEqual([null, 202])
  const movements = [first, second].flatMap(({ caused }) => caused.filter(({ kind }: any) => kind === 'movement'))
  expect(movements).toHaveLength(2)
  const { facts, sentences } = await done(tools, 'explain', { id: second.id })
  expect(facts.repeats).toBe(first.id)
  expect(sentences.join(' ')).toContain('send each try with the key of the first')
  expect((await done(tools, 'explain', { id: first.id })).sentences.join(' ')).toContain('its answer was lost')
  expect(second.idempotency_key).not.toBe(first.idempotency_key)

  const [, making = ''] = /^ *(const key = .*)$/m.exec(RETRYING_KIOSK) ?? []
  const fixed = aboveLoop(RETRYING_KIOSK, making)
  await done(tools, 'rewind', { to: before[0].id })
  expect(await balance()).toBe(1)
  await sellWithLostAnswer(fixed)
  const [retry, lost] = await payments(2)
  expect(retry).toMatchObject({ status: 202, caused: [], caused_by: lost.id, idempotency_key: lost.idempotency_key })
  const { facts: afterwards } = await done(tools, 'explain', { id: retry.id })
  expect([afterwards.replayed, afterwards.repeats]).toEqual([true, undefined])
  expect(await balance()).toBe(0.75)
  expect(await done(tools, 'ledger')).toMatchObject({ ok: true })
})
