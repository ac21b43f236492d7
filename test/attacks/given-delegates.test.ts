import { expect, onTestFinished, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService } from '../../src/index.js'
import type { Storage } from '../../src/storage/storage.js'
import { storageOver } from '../../src/storage/storage-over.js'
import { caller } from '../support/api.js'
import { newDelegate, newPersona, twinIdOf } from '../support/scenes/personas.js'
import { newReader, newSeller } from '../support/scenes/world.js'

/** Somebody who gives delegates to a twin without its owner's consent, and everybody who asks what it holds. */

/** More than one answer is made of. */
const GIVEN = 1200
const MOST_READ = 500

/** A storage that counts the rows of delegates that it gives. */
function counting(inner: Storage) {
  const read = { rows: 0 }
  const storage = storageOver(inner, {
    read: (body) =>
      inner.read((tx) =>
        body({
          get: (from, id) => tx.get(from, id),
          getMany: (from, ids) => tx.getMany(from, ids),
          async find(from, query) {
            const rows = await tx.find(from, query)
            if (from.name === 'delegates') read.rows += rows.length
            return rows
          },
        }),
      ),
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

test('a persona gives a twin of somebody else at most 100 delegates a day', async () => {
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

test('whoever verifies a persona, or reads what they hold, reads a limited number of delegates', async () => {
  const { storage, call, stranger, victim, hostname, persona, read, give } = await start()
  const first = await give()
  const revoked = await newDelegate(call, stranger, { persona: persona.hash, hostname })
  await call('DELETE', `/v4/persona/${persona.hash}/delegates/${revoked.hash}`, { token: stranger.token })
  const state = await storage.export()
  const rows: object[] = [...(state.rows.delegates ?? [])]
  const model = { ...rows.find((row) => Object(row).revoked_at === null), created_at: Date.now() }
  const issued = rows.length + GIVEN
  for (let issue = rows.length + 1; issue <= issued; issue++)
    rows.push({ ...model, id: `41${String(issue).padStart(64, 'f')}`, issue, number: issue })
  await storage.import({ ...state, rows: { ...state.rows, delegates: rows as never } })
  const twinId = await twinIdOf(call, victim.token, hostname)
  const counted = async (path: string, token?: string) => {
    read.rows = 0
    const { status, body } = await call('GET', path, { ...(token && { token }) })
    expect(status).toBe(200)
    expect(read.rows).toBeLessThanOrEqual(MOST_READ)
    return body
  }
  const path = `/v4/persona/${persona.hash}/verify?twin_id=${twinId}`
  const all = await counted(`${path}&public_secret=${stranger.publicSecret}`)
  expect([all.status, all.instances.length]).toEqual([200, MOST_READ])
  expect(all.instances.at(-1)).toBe(`41${String(issued).padStart(64, 'f')}`)
  expect((await counted(`${path}&issue_max=2`, stranger.token)).instances).toEqual([first.body.hash])
  expect((await counted(`${path}&issue_min=${issued}`, stranger.token)).instances).toHaveLength(1)
  expect((await counted('/v4/persona/delegates', victim.token))[persona.hash]).toHaveLength(MOST_READ)
})
