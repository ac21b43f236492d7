import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { fileStorage } from '../../adapters/storage/file.js'
import { importState } from '../../sandbox/commands/state.js'
import { createService, type State } from '../../src/index.js'
import { caller } from '../support/api.js'
import { howMuch } from '../support/how-much.js'
import { expectProblem } from '../support/scenes/market.js'

const service = createService({ sandbox: true })
const call = caller({ url: service.baseUrl, fetch: service.fetch })
afterAll(() => service.close())

type Rows = Record<string, Record<string, unknown>[]>
interface Document {
  counters: Record<string, number>
  rows: Rows
}

/** A state of the first version, in which every collection holds rows. */
const sound: Document = await readFile(new URL('../states/v1.json', import.meta.url), 'utf8').then((text) => {
  const { counters, rows } = JSON.parse(text)
  return { counters, rows }
})

function damaged(damage: (document: Document) => void): Document {
  const document = structuredClone(sound)
  damage(document)
  return document
}

const first = (rows: Rows, collection: string): Record<string, unknown> => rows[collection]?.[0] ?? {}
const posted = ({ movements = [] }: Rows) => movements.find(({ state }) => state === 'posted') ?? {}

/** The damage to a sound state, then the collection and the id that the refusal names. */
const damages: [string, (document: Document) => void, collection: string, id?: string | number][] = [
  ['raises a balance', ({ rows }) => Object.assign(first(rows, 'balances'), { amount: '999999' }), 'balances'],
  ['removes an entry', ({ rows }) => rows.entries?.pop(), 'movements'],
  ['removes a balance', ({ rows }) => rows.balances?.pop(), 'balances'],
  ['raises the amount of a movement', ({ rows }) => Object.assign(posted(rows), { amount: '5' }), 'movements'],
  ['writes an amount as a float', ({ rows }) => Object.assign(posted(rows), { amount: 1.5 }), 'movements'],
  [
    'gives two accounts the same public secret',
    ({ rows }) => {
      Object.assign(rows.accounts?.[1] ?? {}, { public_secret: first(rows, 'accounts').public_secret })
    },
    'accounts',
    2,
  ],
  [
    'gives two users the same email',
    ({ rows }) => {
      Object.assign(rows.users?.[1] ?? {}, { email: first(rows, 'users').email })
    },
    'users',
    2,
  ],
  ['gives two twins the same id', ({ rows }) => rows.twins?.push(structuredClone(first(rows, 'twins'))), 'twins', 1],
  ['sets a counter below its rows', ({ counters }) => (counters.users = 1), 'users', 2],
  ['removes a counter', ({ counters }) => delete counters.movements, 'movements', 1],
  ['sets the counter of hashes below its rows', ({ counters }) => (counters.commodities = 0), 'commodities'],
  ['adds rows to an unknown collection', ({ rows }) => (rows.gold = [{ id: 1 }]), 'gold'],
  ['adds null to the rows', ({ rows }) => rows.twins?.push(null as never), 'twins'],
  ['adds text to the rows', ({ rows }) => rows.twins?.push('a twin' as never), 'twins'],
  ['adds a row without an id', ({ rows }) => rows.twins?.push({ owner: 'user:1' }), 'twins'],
  ['makes an indexed field an object', ({ rows }) => Object.assign(first(rows, 'twins'), { hostname: {} }), 'twins', 1],
  ['removes the twin of a balance', ({ rows }) => (rows.twins = rows.twins?.slice(1) ?? []), ''],
  ['removes all users', ({ rows }) => (rows.users = []), ''],
  [
    'sets the clock to an invalid time',
    ({ rows }) => {
      rows.settings = [{ id: 'clock', value: { mode: 'manual', ms: 'noon' } }]
    },
    'settings',
    'clock',
  ],
  [
    'sets an invalid key',
    ({ rows }) => {
      rows.settings = [{ id: 'key', value: 'secret' }]
    },
    'service_keys',
    'key',
  ],
]

describe('a snapshot', () => {
  it('of an older release is accepted, and survives an export', async () => {
    expect((await call('PUT', '/_sandbox/snapshot', { body: sound })).status).toBe(204)
    const taken = await service.sandbox.snapshot()
    expect((await call('PUT', '/_sandbox/snapshot', { body: taken })).status).toBe(204)
    expect((await service.sandbox.ledger()).ok).toBe(true)
  })

  it.each(damages)('that %s is refused, and changes nothing', async (_, damage, collection, id) => {
    await call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
    const before = [await service.sandbox.snapshot(), service.sandbox.clock()]
    const refused = await call('PUT', '/_sandbox/snapshot', { body: damaged(damage) })
    expectProblem(refused, 422, 'snapshot_refused')
    if (collection !== '') expect(refused.body.collection).toBe(collection)
    if (id !== undefined) expect(refused.body.id).toBe(id)
    await expect(service.sandbox.restore(damaged(damage) as never)).rejects.toMatchObject({ code: 'snapshot_refused' })
    expect([await service.sandbox.snapshot(), service.sandbox.clock()]).toEqual(before)
  })

  it.each(Object.keys(sound.counters))('without the counter of %s is refused', async (name) => {
    const refused = await call('PUT', '/_sandbox/snapshot', { body: damaged(({ counters }) => delete counters[name]) })
    expectProblem(refused, 422, 'snapshot_refused')
    expect(refused.body.collection).toBe(name)
  })

  it('that is damaged leaves the data file unchanged on import', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'farthing-'))
    const [data, bad] = [join(directory, 'data.json'), join(directory, 'bad.json')]
    const storage = await fileStorage({ file: data })
    await storage.import(sound as unknown as State)
    await storage.close()
    const before = await readFile(data, 'utf8')
    await writeFile(bad, JSON.stringify(damaged(({ rows }) => rows.entries?.pop())))
    await expect(importState({ file: bad, data, json: false })).rejects.toThrow('of movements')
    expect(await readFile(data, 'utf8')).toBe(before)
    await rm(directory, { recursive: true })
  })

  it('with random damage is refused or does no harm', async () => {
    const random = seeded(15)
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
    const filled = Object.keys(sound.rows)
    const harms: ((document: Document) => void)[] = [
      ({ rows }) => {
        const of = rows[pick(filled)] ?? []
        of.splice(Math.floor(random() * of.length), 1)
      },
      ({ rows }) => {
        const of = rows[pick(filled)] ?? []
        of.push(structuredClone(pick(of)))
      },
      ({ rows }) => {
        const of = rows[pick(['movements', 'entries', 'balances'])] ?? []
        const row = pick(of)
        row[pick(Object.keys(row))] = pick([null, -1, '0', '7', 'x', true, [], {}])
      },
      ({ rows }) => {
        const of = rows[pick(filled)] ?? []
        Object.assign(pick(of), { id: pick([null, -1, 1e9, 'x', pick(of).id]) })
      },
      ({ counters }) => {
        counters[pick(Object.keys(counters))] = Math.floor(random() * 3)
      },
    ]
    const outcomes = { taken: 0, refused: 0 }
    const runs = howMuch(60, 150)
    for (let n = 0; n < runs; n++) {
      const answer = await call('PUT', '/_sandbox/snapshot', { body: damaged(pick(harms)) })
      if (answer.status !== 204) {
        expectProblem(answer, 422, 'snapshot_refused')
        outcomes.refused++
        continue
      }
      outcomes.taken++
      expect((await service.sandbox.ledger()).broken).toBeNull()
      const made = await call('POST', '/v4/account')
      expect([n, made.status]).toEqual([n, 201])
    }
    expect(outcomes.refused).toBeGreaterThan(runs / 3)
    expect(outcomes.taken).toBeGreaterThan(runs / 30)
  })
})

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function seeded(state: number): () => number {
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
