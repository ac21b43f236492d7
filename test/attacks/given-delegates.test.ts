import { expect, onTestFinished, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService } from '../../src/index.js'
import { storageOver } from '../../src/storage/service-storage.js'
import type { Storage } from '../../src/storage/storage.js'
import { type CallOptions, caller } from '../support/api.js'
import { newDelegate, newPersona, twinIdOf } from '../support/scenes/personas.js'
import { newReader, newSeller, newTwin } from '../support/scenes/world.js'

/** Someone who gives delegates to a twin without its owner's consent, and everybody who asks what it holds. */

const GIVEN = 1200
/** More than one transaction reads. */
const MOST_READ = 100

/** A storage that counts the rows of delegates that its largest transaction reads. */
function counting(inner: Storage) {
  const read = { largest: 0 }
  const storage = storageOver(inner, {
    read: (body) =>
      inner.read((tx) => {
        let own = 0
        return body({
          get: (from, id) => tx.get(from, id),
          getMany: (from, ids) => tx.getMany(from, ids),
          async find(from, query) {
            const rows = await tx.find(from, query)
            if (from.name === 'delegates') own += rows.length
            read.largest = Math.max(read.largest, own)
            return rows
          },
        })
      }),
  })
  return { storage, read }
}

async function start() {
  const { storage, read } = counting(memoryStorage())
  const service = createService({ sandbox: true, storage })
  onTestFinished(() => service.close())
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const stranger = await newSeller(call)
  const victim = await newReader(call, stranger, { balance: 1 })
  const { hostname } = victim
  const persona = await newPersona(call, stranger)
  const give = (fields: object = {}) =>
    call('POST', `/v4/persona/${persona.hash}/delegate`, { token: stranger.token, body: { hostname, ...fields } })
  return { storage, call, stranger, victim, hostname, persona, read, give }
}

test('a persona gives a twin of someone else at most 100 delegates a day', async () => {
  const { call, stranger, persona, give } = await start()
  for (let n = 0; n < 100; n++) expect((await give()).status).toBe(201)
  const more = await give()
  expect([more.status, more.body.code]).toEqual([429, 'too_many_new'])
  expect(Number(more.headers.get('retry-after'))).toBeGreaterThan(0)
  const other = await newPersona(call, stranger)
  const body = { hostname: (await call('GET', '/v4/twins', { token: stranger.token })).body.twins[0].hostname }
  for (const { hash } of [persona, other])
    expect((await call('POST', `/v4/persona/${hash}/delegate`, { token: stranger.token, body })).status).toBe(201)
})

test('a transaction reads few delegates, though whoever verifies a persona or reads what they hold sees all', async () => {
  const { storage, call, stranger, victim, hostname, persona, read, give } = await start()
  const first = await give()
  const revoked = await newDelegate(call, stranger, { persona: persona.hash, hostname })
  await call('DELETE', `/v4/persona/${persona.hash}/delegates/${revoked.hash}`, { token: stranger.token })
  const state = await storage.export()
  const rows: object[] = [...(state.rows.delegates ?? [])]
  const model = { ...rows.find((row) => Object(row).revoked_at === null), created_at: Date.now() }
  const issued = rows.length + GIVEN
  const hashes = [first.body.hash]
  for (let issue = rows.length + 1; issue <= issued; issue++) {
    const id = `41${String(issue).padStart(64, 'f')}`
    hashes.push(id)
    rows.push({ ...model, id, issue, number: issue })
  }
  await storage.import({ ...state, rows: { ...state.rows, delegates: rows as never } })
  const twinId = await twinIdOf(call, victim.token, hostname)
  const counted = async (path: string, options: CallOptions = {}) => {
    read.largest = 0
    const answer = await call('GET', path, options)
    expect(answer.status).toBe(200)
    expect(read.largest).toBeGreaterThan(0)
    expect(read.largest).toBeLessThanOrEqual(MOST_READ)
    return answer.body
  }
  const path = `/v4/persona/${persona.hash}/verify?twin_id=${twinId}`
  const { token } = stranger
  expect(await counted(`${path}&public_secret=${stranger.publicSecret}`)).toEqual({
    status: 200,
    message: `The twin holds ${hashes.length} of the requested delegates of "Ada".`,
    hostname,
    instances: hashes,
  })
  expect((await counted(`${path}&issue_max=2`, { token })).instances).toEqual([first.body.hash])
  expect((await counted(`${path}&issue_min=${issued}`, { token })).instances).toEqual(hashes.slice(-1))
  expect((await counted(`${path}&issue_min=3&issue_max=202`, { token })).instances).toEqual(hashes.slice(1, 201))
  expect(await counted('/v4/persona/delegates', { token: victim.token })).toEqual({ [persona.hash]: hashes })
  const headers = { accept: 'application/json' }
  const inventory = await counted(`/v4/twin/${hostname}/inventory`, { token: victim.token, headers })
  expect(inventory.slice(1).map(({ fileIdentity }: { fileIdentity: string }) => fileIdentity)).toEqual(hashes)
})

test('the mapping has the delegates of each of many twins, also where a slice ends with one', async () => {
  const { storage, call, stranger, victim, persona } = await start()
  const given: string[] = []
  const twins = [victim.hostname]
  for (let n = 0; n < 205; n++) twins.push((await newTwin(call, victim.token)).hostname)
  // A slice of twins without any, one that ends with a twin's last delegate, and one in between.
  for (const [at, count] of [
    [100, 2],
    [150, 1],
    [205, 3],
  ] as const)
    for (let n = 0; n < count; n++) {
      const delegate = { persona: persona.hash, hostname: twins[at] as string }
      given.push((await newDelegate(call, stranger, delegate)).hash)
    }
  const read = async () => (await call('GET', '/v4/persona/delegates', { token: victim.token })).body
  expect(await read()).toEqual({ [persona.hash]: given })
  const state = await storage.export()
  const [model] = (state.rows.delegates ?? []) as { id: string; twin_id: number; issue: number; number: number }[]
  const copies = Array.from({ length: 98 }, (_, n) => {
    const id = `41${String(n).padStart(64, 'f')}`
    return { ...model, id, issue: n + 10, number: n + 10 }
  })
  await storage.import({
    ...state,
    rows: { ...state.rows, delegates: [...(state.rows.delegates ?? []), ...copies] as never },
  })
  const all = [...given, ...copies.map(({ id }) => id)]
  expect((await read())[persona.hash].sort()).toEqual(all.sort())
})
