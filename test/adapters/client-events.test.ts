import { client } from 'farthing/client'
import { describe, expect, it } from 'vitest'
import { refusing } from '../support/scenes/client-shop.js'

const message = (id: number) => `event: client.one\ndata: ${JSON.stringify({ id, type: 'client.one' })}\nid: ${id}\n\n`

/** A service whose newest event is number 7. Its streams answer this, one after the other. */
function streaming(...answers: (() => Response)[]) {
  const resumed: (string | null)[] = []
  const left = [...answers]
  const fetch = async (_: string, init: RequestInit) => {
    const headers = new Headers(init.headers)
    if (headers.get('accept') !== 'text/event-stream') return Response.json({ events: [{ id: 7 }], next: 7 })
    resumed.push(headers.get('last-event-id'))
    const next = left.shift()
    if (!next) throw new Error('the test has no more streams')
    return next()
  }
  return { ada: client('https://pay.example.test', { fetch, retries: 0 }).as({ access_token: 'one' }), resumed }
}

const cut = (): Response => {
  throw new TypeError('fetch failed')
}

describe('events.follow', () => {
  it('begins behind the newest event, and after a cut neither misses nor repeats one', async () => {
    const { ada, resumed } = streaming(
      () => new Response(`: following\n${message(8)}${message(9)}event: client.one\ndata: {"id": 1`),
      cut,
      () => refusing(503, 'storage_unavailable'),
      () => new Response(message(10)),
    )
    const seen: number[] = []
    for await (const event of ada.events.follow()) if (seen.push(event.id) === 3) break
    expect(seen).toEqual([8, 9, 10])
    expect(resumed).toEqual(['7', '9', '9', '9'])
  })

  it('begins where it is asked to, and tells of events that are gone', async () => {
    const gone = 'event: events.removed\ndata: {"after":2,"until":5}\nid: 5\n\n'
    const { ada, resumed } = streaming(() => new Response(gone + message(6)))
    const seen: unknown[] = []
    for await (const event of ada.events.follow({ after: 2 })) if (seen.push(event) === 2) break
    expect(seen).toEqual([
      { id: 5, type: 'events.removed', data: { after: 2, until: 5 } },
      { id: 6, type: 'client.one' },
    ])
    expect(resumed).toEqual(['2'])
  })

  it('throws a refusal, an error of its first connection, and the reason of a signal', async () => {
    const first = (answer: () => Response, signal?: AbortSignal) =>
      streaming(answer).ada.events.follow({}, { signal })[Symbol.asyncIterator]().next()
    await expect(first(() => refusing(403, 'wrong_principal'))).rejects.toMatchObject({ operation: 'listEvents' })
    await expect(first(cut)).rejects.toThrow('fetch failed')
    const controller = new AbortController()
    const silent = first(() => new Response(new ReadableStream()), controller.signal)
    setTimeout(() => controller.abort(new Error('enough')))
    await expect(silent).rejects.toThrow('enough')
  })
})
