import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import type { WebhookMessageRow } from '../../src/base/message.js'
import { systemRandom } from '../../src/base/ports.js'
import type { ServiceContext } from '../../src/http/context.js'
import { putEvent } from '../../src/jobs/events/event.js'
import { matchesPattern } from '../../src/jobs/events/event-types.js'
import { handOutEvents } from '../../src/jobs/webhooks/hand-out.js'
import {
  PROGRESS,
  type WebhookDeliveryRow,
  type WebhookRow,
  webhookProgress,
  webhooks,
} from '../../src/jobs/webhooks/webhook-row.js'

const AT = Date.UTC(2031, 4, 1)

const webhookOf = (id: number, account_id: number, more: Partial<WebhookRow>): WebhookRow => ({
  ...{ id, account_id, url: `https://hook-${id}.example.test/`, description: null, events: ['*'], status: 'enabled' },
  ...{ disabled_reason: null, term: 0, after_event: 0, secret: 's', former_secret: null, former_until: null },
  ...{ created_at: AT, updated_at: AT, ...more },
})

const all = [
  webhookOf(1, 1, {}),
  webhookOf(2, 1, { events: ['payment.*', 'client.b'] }),
  webhookOf(3, 1, { status: 'disabled' }),
  webhookOf(4, 2, { after_event: 120 }),
  webhookOf(5, 3, { events: ['client.a'] }),
]
const owners = [['account:1'], ['account:2', 'account:1'], ['account:3', 'user:1'], ['user:1'], ['account:9']] as const
const types = ['client.a', 'client.b', 'payment.created', 'webhook.test', 'token.issued'] as const

async function started() {
  const storage = memoryStorage()
  const noted: [number, number][] = []
  const clock = { at: AT, now: () => clock.at }
  const recorder = { noteMessage: (event: number, { id }: { id: number }) => noted.push([event, id]) }
  const service = { storage, clock, random: systemRandom, recorder } as unknown as ServiceContext // As much as it needs.
  return { storage, clock, noted, round: () => handOutEvents(service) }
}

const rowsIn = async ({ storage }: Awaited<ReturnType<typeof started>>) => {
  const { rows } = await storage.export()
  return {
    deliveries: (rows.webhook_deliveries ?? []) as unknown as WebhookDeliveryRow[],
    messages: (rows.outbox ?? []) as unknown as WebhookMessageRow[],
  }
}

test('each event goes once to every enabled webhook that wants it, in their order, in slices, whatever the clock does', async () => {
  const world = await started()
  const { storage, clock, noted, round } = world
  expect(await round()).toBe(false)
  const expected: string[] = []
  await storage.write(async (tx) => {
    for (const webhook of all) tx.put(webhooks, webhook)
    for (let n = 0; n < 250; n++) {
      const [own, type] = [owners[n % owners.length] ?? owners[0], types[(n * 3 + (n % 7)) % types.length] ?? types[0]]
      const of = { owners: [...own] as [(typeof own)[0]], type, actor: 'service', subject: null, data: {}, at: AT }
      const { id } = await putEvent(tx, of)
      for (const { id: webhook, account_id, status, after_event, events } of all)
        if (own.some((owner) => owner === `account:${account_id}`) && status === 'enabled' && id > after_event)
          if (type !== 'webhook.test' && matchesPattern(events, type)) expected.push(`${id} to ${webhook}`)
    }
  })
  // Without progress there was no webhook yet.
  expect(await round()).toBe(false)
  await storage.write(async (tx) => tx.put(webhookProgress, { id: PROGRESS, after: 0, due_at: 0 }))
  const more: boolean[] = []
  // The clock goes back by seconds between two slices.
  for (const at of [AT, AT - 5000, AT + 9, AT + 9]) {
    clock.at = at
    more.push(await round())
  }
  expect(more).toEqual([true, true, false, false])
  const { deliveries, messages } = await rowsIn(world)
  expect(deliveries.map(({ event_id, webhook_id }) => `${event_id} to ${webhook_id}`).sort()).toEqual(expected.sort())
  expect(deliveries.map(({ event_id }) => event_id)).toEqual(
    deliveries.map(({ event_id }) => event_id).sort((a, b) => a - b),
  )
  expect(messages.map(({ id, delivery_id, webhook_id }) => [id, delivery_id, webhook_id])).toEqual(
    deliveries.map(({ id, outbox_id, webhook_id }) => [outbox_id, id, webhook_id]),
  )
  expect(new Set(deliveries.map(({ message_id }) => message_id)).size).toBe(deliveries.length)
  expect(noted).toEqual(deliveries.map(({ event_id, outbox_id }) => [event_id, outbox_id]))
  const due = messages.map(({ due_at }) => due_at ?? 0)
  expect(due).toEqual(due.toSorted((a, b) => a - b))
  expect([due[0], due.at(-1)]).toEqual([AT, AT + 9])
  for (const { to, owner, queue, webhook_id, kind } of messages) {
    const { url, account_id } = all[webhook_id - 1] ?? {}
    expect([kind, to, owner, queue]).toEqual(['webhook', url, `account:${account_id}`, `webhook:${webhook_id}`])
  }
})

test('a clock that was an hour ahead holds up no delivery', async () => {
  const world = await started()
  await world.storage.write(async (tx) => {
    tx.put(webhooks, webhookOf(1, 1, {}))
    tx.put(webhookProgress, { id: PROGRESS, after: 0, due_at: AT + 3_600_000 })
    await putEvent(tx, { owners: ['account:1'], type: 'client.a', actor: 'x', subject: null, data: {}, at: AT })
  })
  await world.round()
  expect((await rowsIn(world)).messages).toMatchObject([{ due_at: AT }])
})
