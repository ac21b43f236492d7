import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { routeList } from '../../scripts/route-table.js'
import { callsWithoutFields, refusedCalls } from '../support/examples/refusals.js'
import { type Exchange, replayed, SessionRecorder } from '../support/examples/session.js'
import { onTour, takeTour } from '../support/examples/tour.js'
import { hasVectors, type VectorFile, vectorFiles } from '../support/examples/vectors.js'
import { howMuch } from '../support/how-much.js'

const folder = fileURLToPath(new URL('../../dist/interop', import.meta.url))

let tour: readonly Exchange[] = []
let files: Record<string, VectorFile> = {}
const listed = () => Object.values(files).flatMap(({ operations }) => Object.entries(operations))

/** Hundreds of calls, one after the other. */
const RECORD_MS = 60_000

beforeAll(async () => {
  const recorders = [new SessionRecorder(), new SessionRecorder()] as const
  await takeTour((...sent) => recorders[0].pass(...sent))
  await onTour(
    (...sent) => recorders[1].pass(...sent),
    async (call) => {
      await callsWithoutFields(call)
      await refusedCalls(call)
    },
  )
  tour = recorders[0].exchanges
  files = vectorFiles([...tour, ...recorders[1].exchanges], 'http://127.0.0.1:4242')
}, RECORD_MS)

/** `npm run interop` writes the files. */
describe('The interop vectors', () => {
  it('show every operation for programs: a success, and a refusal if anybody can cause one', () => {
    const wanted = routeList.filter(hasVectors)
    const shown = new Map(listed().map(([id, { vectors }]) => [id, vectors.map(({ answer }) => answer.status)]))
    const without = (isShown: (status: number) => boolean) =>
      wanted.filter(({ id }) => !shown.get(id)?.some(isShown)).map(({ id }) => id)
    // Work must first fail for a day.
    expect(without((status) => status < 400)).toEqual(['retryDeadLetter'])
    const open = wanted.filter(({ auth, scope }) => scope || auth.includes('none') || auth.includes('guest'))
    const refuses = without((status) => status >= 400 && status < 500)
    expect(refuses.filter((id) => !open.some((route) => route.id === id))).toEqual([])
    expect(refuses.length).toBeLessThan(wanted.length / 4)
  })

  it('hold requests and answers as JSON: headers, fields or text', () => {
    const { createPayment } = files['payments.json']?.operations ?? {}
    const paid = createPayment?.vectors.find(({ answer }) => answer.status === 202)
    expect(paid).toMatchObject({
      request: {
        method: 'POST',
        path: expect.stringMatching(/^\/v4\/payment\//),
        headers: { authorization: expect.any(String) },
      },
      answer: { status: 202, headers: { 'x-evidence': 'observed' }, body: { nonce: expect.any(String) } },
    })
    const refused = createPayment?.vectors.find(({ answer }) => answer.status === 401)
    expect(refused?.answer.body).toMatchObject({ status: 401, code: 'authorization_missing' })
    const exported = listed().find(([id]) => id === 'readBinder')?.[1].vectors
    expect(exported?.find(({ answer }) => answer.text !== undefined)?.answer.headers['content-type']).toMatch(
      'text/csv',
    )
  })

  it('get the same answers when the session is sent again', { timeout: RECORD_MS }, async () => {
    // Calls that wait are repeated, and the journal has an entry for each.
    const sent = tour.slice(0, howMuch(120, undefined))
    const wrong = (await replayed(sent)).filter(({ exchange }) => !exchange.request.path.includes('/_sandbox/requests'))
    expect(wrong.map(({ exchange, again }) => [exchange.request.path, exchange.answer, again])).toEqual([])
    expect(tour.length).toBeGreaterThan(250)
  })

  // npm run interop
  if (process.env.FARTHING_WRITE_INTEROP)
    it('are written to dist/interop', async () => {
      await rm(folder, { recursive: true, force: true })
      await mkdir(folder, { recursive: true })
      for (const [name, file] of Object.entries(files))
        await writeFile(join(folder, name), `${JSON.stringify(file, null, 1)}\n`)
    })
})
