import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import type { OutboxRow } from '../../src/base/message.js'
import { type ApprovalRow, approvals } from '../../src/consent/approvals/approval.js'
import type { ServiceContext } from '../../src/http/context.js'
import { type UserRow, users } from '../../src/identity/users/user.js'
import { createService, type State } from '../../src/index.js'
import { outbox } from '../../src/jobs/outbox/outbox.js'
import { approvalQueue, emptyInbox } from '../../src/sandbox/controls/people-controls.js'
import { clockTime, durationMs, LAST_TIME, sandboxClock } from '../../src/sandbox/controls/shapes.js'
import type { Reader } from '../../src/storage/storage.js'
import { howMuch } from '../support/how-much.js'

const field = (name: string) => expect.objectContaining({ code: 'field_invalid', fields: { field: name } })

describe('A duration', () => {
  const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

  test('is the sum of its parts, before or after now, and a number counts seconds', () => {
    const part = fc.tuple(
      fc.nat(999),
      fc.constantFrom('', '.5', '.25'),
      fc.constantFrom(...(['ms', 's', 'm', 'h', 'd'] as const)),
    )
    const parts = fc.array(part, { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(parts, fc.constantFrom('', '-'), fc.constantFrom('', ' '), (list, sign, space) => {
        const text = list.map(([whole, rest, unit]) => `${whole}${rest}${unit}`).join('')
        const sum = list.reduce((ms, [whole, rest, unit]) => ms + Number(`${whole}${rest}`) * units[unit], 0)
        expect(durationMs(`${space}${sign}${text}${space}`)).toBe(Math.round(sign ? -sum : sum))
      }),
      { numRuns: howMuch(40, 400) },
    )
    expect([90, 1.5, -2, 0].map(durationMs)).toEqual([90_000, 1500, -2000, 0])
  })

  test.each([
    '',
    '-',
    '5',
    's',
    '1 h',
    '1h 30m',
    '+1h',
    '--1h',
    '1.h',
    '.5h',
    '1w',
    '1H',
    'x1h',
    '1hx',
    Number.NaN,
    1e21,
  ])('is not %j', (text) => {
    expect(() => durationMs(text)).toThrow(field('advance'))
  })
})

describe('The clock of a sandbox', () => {
  test.each([
    [0, 0],
    ['2030-01-02T03:04:05Z', Date.UTC(2030, 0, 2, 3, 4, 5)],
    [1_900_000_000, 1_900_000_000_000],
    ['9999-12-31T23:59:59.999Z', LAST_TIME],
    // Beyond the year 9999 in seconds, a number counts milliseconds.
    [253_402_300_799, 253_402_300_799_000],
    [253_402_300_800, 253_402_300_800],
    [LAST_TIME, LAST_TIME],
  ])('is set to %j', (set, ms) => {
    expect(clockTime(set)).toBe(ms)
  })

  test('is set to nothing after the year 9999', () => {
    for (const set of [LAST_TIME + 1, 1e300]) expect(() => clockTime(set)).toThrow(field('set'))
  })

  test('follows the real one, or stands still, from the time that it had', () => {
    let real = 1000
    const clock = sandboxClock({ now: () => real })
    const seen = () => [clock.mode, clock.now(), clock.realNow()]
    expect(seen()).toEqual(['real', 1000, 1000])
    clock.setTo(5000)
    real += 10
    expect(seen()).toEqual(['real', 5010, 1010])
    clock.setMode('manual')
    real += 10
    expect(seen()).toEqual(['manual', 5010, 1020])
    const kept = clock.state()
    clock.setTo(7000)
    clock.setMode('real')
    real += 10
    expect(seen()).toEqual(['real', 7010, 1030])
    clock.restore(kept)
    expect(seen()).toEqual(['manual', 5010, 1030])
  })
})

describe('The settings in a snapshot', () => {
  const clock = (value: unknown) => ({ settings: [{ id: 'clock', value }] })
  const hex = '0123456789abcdef'.repeat(4)
  const key = (value: unknown, id = 'key') => ({ service_keys: [{ id, value }] })

  test.each([
    ['clock', clock({ mode: 'real', ms: 0 }), true],
    ['clock', clock({ mode: 'manual', ms: LAST_TIME }), true],
    ['clock', clock({ mode: 'real', ms: -LAST_TIME }), true],
    ['clock', clock({ mode: 'manual', ms: LAST_TIME + 1 }), false],
    ['clock', clock({ mode: 'real', ms: -LAST_TIME - 1 }), false],
    ['clock', clock({ mode: 'manual', ms: 0.5 }), false],
    ['clock', clock({ mode: 'manual', ms: '0' }), false],
    ['clock', clock({ mode: 'stopped', ms: 0 }), false],
    ['clock', clock({ ms: 0 }), false],
    ['clock', clock({ mode: 'real' }), false],
    ['clock', clock(null), false],
    ['clock', { settings: [{ id: 'clock' }] }, false],
    ['key', key(hex), true],
    ['key', key(`${hex}0`), false],
    ['key', key(hex.slice(1)), false],
    ['key', key(hex.toUpperCase()), false],
    ['key', key(undefined), false],
    ['key_salt', { settings: [{ id: 'key_salt', value: hex }] }, true],
    ['key_salt', { settings: [{ id: 'key_salt', value: 'short' }] }, false],
  ])('are refused by their row, or taken: %s %j', async (id, rows, isTaken) => {
    const service = createService({ sandbox: true })
    onTestFinished(() => service.close())
    const before = await service.sandbox.snapshot()
    const state = { ...before, rows: { ...before.rows, ...rows } } as State
    const restored = service.sandbox.restore(state)
    if (isTaken) return expect(await restored).toBeUndefined()
    const [collection] = Object.keys(rows)
    await expect(restored).rejects.toMatchObject({ code: 'snapshot_refused', fields: { collection, id } })
    expect(await service.sandbox.snapshot()).toEqual(before)
  })
})

describe('The approvals of agents', () => {
  const AT = 1000
  const emails = ['ada@example.test', 'bob@example.test']
  const status = fc.constantFrom('pending' as const, 'pending' as const, 'approved' as const, 'rejected' as const)
  const asked = fc.record({ user: fc.nat(1), status, expires_at: fc.constantFrom(AT - 1, AT + 1, AT + 1) })

  /** A queue whose waits end at once, and what it was asked. */
  async function queueOf(rows: readonly object[], mayGoOn = true) {
    const storage = memoryStorage()
    await storage.write(async (tx) => {
      for (const [n, email] of emails.entries()) tx.put(users, { id: n + 1, email } as UserRow)
      for (const row of rows) tx.put(approvals, row as ApprovalRow)
    })
    const seen = { waits: [] as number[], alarms: [] as number[], cancelled: 0, answered: [] as string[] }
    let ring = () => {}
    const service = {
      alarm: {
        set(ms: number, run: () => void) {
          seen.alarms.push(ms)
          ring = run
          return () => void seen.cancelled++
        },
      },
      background: {
        async watch({ ms }: { ms: number }, read: (tx: Reader) => Promise<unknown>) {
          seen.waits.push(ms)
          const value = await storage.read(read)
          // The second look is too late.
          if (seen.waits.length > 1) ring()
          return { value, changed: Promise.resolve(mayGoOn) }
        },
      },
      clock: { now: () => AT },
      baseUrl: 'https://farthing.test',
      sandbox: { handedApprovals: new Map() },
    } as unknown as ServiceContext
    const answer = (verb: string) => async (id: string) => void seen.answered.push(`${verb} ${id}`)
    const answers = { approve: answer('approve'), reject: answer('reject') }
    return { queue: approvalQueue(service, answers as never), seen }
  }

  test('are handed out once each, in their order, to those who wait for their user or for anybody', async () => {
    const waits = fc.array(fc.constantFrom(undefined, ...emails, 'eve@example.test'), { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(fc.array(asked, { maxLength: 6 }), waits, async (list, waits) => {
        const rows = list.map(({ user, ...fields }, n) => ({
          ...{ id: `apr_${n}`, number: n + 1, user_id: user + 1, spent_at: null, created_at: 0, ...fields },
        }))
        const { queue } = await queueOf(rows)
        let left = rows.filter((row) => row.status === 'pending' && row.expires_at > AT)
        for (const email of waits) {
          const first = left.find((row) => email === undefined || emails[row.user_id - 1] === email)
          left = left.filter((row) => row !== first)
          const found = queue.next({ email, seconds: 0 }).then(({ approval_id: id }) => id)
          if (first) expect(await found).toBe(first.id)
          else await expect(found).rejects.toThrow('No agent requested an approval within 0 seconds.')
        }
      }),
      { numRuns: howMuch(30, 300) },
    )
  })

  test('are waited for at most 5 seconds, unless told, with a look every quarter of a second', async () => {
    for (const [waiting, seconds, looks] of [
      [undefined, 5, 250],
      [{ seconds: 0.1 }, 0.1, 100],
      [{ seconds: 60 }, 60, 250],
    ] as const) {
      const { queue, seen } = await queueOf([])
      await expect(queue.next(waiting)).rejects.toThrow(`within ${seconds} seconds`)
      expect(seen).toEqual({ waits: [looks, looks], alarms: [seconds * 1000], cancelled: 1, answered: [] })
    }
    const { queue, seen } = await queueOf([], false)
    await expect(queue.next()).rejects.toThrow('The service was closed.')
    expect([seen.waits, seen.cancelled]).toEqual([[250], 1])
  })

  test('are answered by their ids', async () => {
    const row = { user_id: 1, status: 'pending', expires_at: AT + 1, spent_at: null, created_at: 0 }
    const { queue, seen } = await queueOf([1, 2].map((number) => ({ ...row, id: `apr_${number}`, number })))
    await queue.next().approve()
    await queue.next().reject()
    expect(seen.answered).toEqual(['approve apr_1', 'reject apr_2'])
  })
})

test('the outbox is emptied but for charges, refunds and webhooks that have no outcome yet', async () => {
  const storage = memoryStorage()
  const kinds = ['mail', 'push', 'card', 'refund', 'webhook']
  const rows = kinds.flatMap((kind) => ['pending', 'sent', 'failed'].map((status) => ({ kind, status })))
  await storage.write(async (tx) => {
    for (const [at, row] of rows.entries()) tx.put(outbox, { id: at + 1, to: 'ada', ...row } as OutboxRow)
    await emptyInbox(tx)
  })
  const left = (await storage.export()).rows.outbox as OutboxRow[]
  expect(left.map(({ kind, status }) => `${kind} ${status}`)).toEqual([
    'card pending',
    'refund pending',
    'webhook pending',
  ])
})
