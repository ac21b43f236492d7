import { expect, onTestFinished, test, vi } from 'vitest'
import type { Alarm } from '../../../src/base/ports.js'
import { createService } from '../../../src/index.js'
import { caller } from '../../support/api.js'
import { modern, send as sendMessage } from '../../support/mcp/mcp.js'
import { answerApproval, heldBy, newAgentShop } from '../../support/scenes/approvals.js'
import { expectSoundLedger } from '../../support/scenes/market.js'
import { answerLink, mailedLink, secondFactorEvents } from '../../support/scenes/second-factor.js'
import { newSender, send, walletOf } from '../../support/scenes/transfers.js'
import { newPayer, newSession } from '../../support/scenes/world.js'
import { onPostgres } from '../../support/storage/postgres.js'
import { newSchema } from '../../support/storage/shared-url.js'

/** How long a call of an agent waits for its user. */
const ROUND_MS = 20_000
const OSLO = { city: 'Oslo' }

/** Whoever waits looks again after a second or more. Without such a look, only a hint wakes them. */
const isLook = (ms: number) => ms >= 1000

await onPostgres('An answer at another process', (database) => {
  /** Two services over one database, as if each in a process of its own. Either hints or looks are lost. */
  async function newServices(hints: boolean) {
    const schema = newSchema()
    let waits = 0
    const alarm: Alarm = {
      set(ms, ring) {
        if (ms === ROUND_MS) waits++
        if (hints && isLook(ms)) return () => {}
        const timer = setTimeout(ring, ms)
        return () => clearTimeout(timer)
      },
    }
    const open = async () => {
      const storage = await database.open({ schema, hints })
      const upstream = { fetch: async () => Response.json({ warm: true }) }
      const service = createService({ storage, sandbox: true, alarm, upstream })
      onTestFinished(() => service.close())
      await service.ready()
      const call = caller({ url: service.baseUrl, fetch: service.fetch })
      return { call, url: service.baseUrl, fetch: service.fetch, state: () => storage.export(), close: async () => {} }
    }
    const [a, b] = [await open(), await open()]
    /** Begins a call, and resolves when it waits. */
    const begin = async <T>(call: () => Promise<T>): Promise<{ readonly answer: Promise<T> }> => {
      const before = waits
      const answer = call()
      await vi.waitUntil(() => waits > before)
      return { answer }
    }
    return { a, b, begin }
  }

  test.each([{ hints: true }, { hints: false }])(
    'goes on with the call of an agent that waits (hints: $hints)',
    async ({ hints }) => {
      const { a, b, begin } = await newServices(hints)
      const shop = await newAgentShop(async () => a)
      const order = { name: 'agent_checkout', arguments: { catalog_item_id: shop.item.id, arguments: OSLO } }
      const round = async (more: object = {}): Promise<any> => {
        const { headers, message } = modern('tools/call', { ...order, ...more }, { elicitation: { url: {} } })
        return (await sendMessage(a.call, message, { token: shop.agent.token, headers })).body.result
      }
      const { requestState, inputRequests } = await round()
      const inputResponses = { approval: { action: 'accept' } }
      const { answer } = await begin(() => round({ requestState, inputResponses }))
      const { url } = inputRequests.approval.params
      await answerApproval(b.call, shop.payer, url.slice(url.lastIndexOf('/') + 1))
      expect(await answer).toMatchObject({ structuredContent: { status: 'paid' } })
      expect(await heldBy(b.call, shop)).toEqual([9.75, 10])
      await expectSoundLedger(b.call)
    },
    60_000,
  )

  test.each([{ hints: true }, { hints: false }])(
    'confirms the transfer that waits for a second factor (hints: $hints)',
    async ({ hints }) => {
      const { a, b } = await newServices(hints)
      const { payer, seller } = await newSender(async () => a)
      const payee = await newPayer(a.call, seller)
      const session = await newSession(a.call, payer.email)
      const sent = send(a.call, { session }, { address: payee.hostname, amount: 2.5, memo: 'For lunch' })
      await expect.poll(async () => (await secondFactorEvents(b.call, payer.token)).length).toBe(1)
      await answerLink(b.call, await mailedLink(b.call, payer.email))
      expect((await sent).status).toBe(201)
      expect(await walletOf(b.call, payer)).toBe(7.5)
      await expectSoundLedger(b.call)
    },
    60_000,
  )
})
