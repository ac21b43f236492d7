import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { fire } from '../../adapters/service-worker.js'

const SCOPE = 'https://shop.example.test/'
const files = new Map([
  [SCOPE, ['<script src="loaded.js"></script>', 'text/html']],
  [`${SCOPE}app.js`, ['1', 'text/javascript']],
  [`${SCOPE}loaded.js`, ['2', 'text/javascript']],
])
const done: string[] = []
const listeners = new Map<string, (event: unknown) => void>()
const stored = new Map<string, Map<string, Response>>()

/** Every step takes a while, so that one which is not awaited comes too late. */
const later = () => new Promise((resolve) => setTimeout(resolve, 2))

function cacheNamed(name: string) {
  const content = stored.get(name) ?? new Map<string, Response>()
  stored.set(name, content)
  return {
    match: async (url: string) => content.get(url)?.clone(),
    async put(url: string, response: Response) {
      await later()
      content.set(url, response)
      done.push(name === 'farthing versions' ? url.replace(SCOPE, '') : `stores ${url}`)
    },
  }
}

beforeEach(() => {
  for (const seen of [done, listeners, stored]) Array.isArray(seen) ? seen.splice(0) : seen.clear()
  vi.stubGlobal('registration', { scope: SCOPE })
  vi.stubGlobal('clients', { claim: async () => void done.push('claims') })
  vi.stubGlobal('skipWaiting', async () => void done.push('takes over'))
  vi.stubGlobal('addEventListener', (type: string, listener: (event: unknown) => void) => listeners.set(type, listener))
  vi.stubGlobal('navigator', { locks: { request: async (_: string, job: () => Promise<unknown>) => job() } })
  vi.stubGlobal('caches', {
    open: async (name: string) => cacheNamed(name),
    keys: async () => [...stored.keys()],
    delete: async (name: string) => stored.delete(name),
  })
  vi.stubGlobal('fetch', async (url: string) => {
    await later()
    const [text, type] = files.get(url) ?? []
    done.push(`fetches ${url}`)
    const answer = new Response(text ?? null, { status: type ? 200 : 404, headers: { 'content-type': type ?? '' } })
    return Object.defineProperty(answer, 'url', { value: url })
  })
})
afterEach(() => vi.unstubAllGlobals())

/** Sends an event to the worker, and resolves when it may end. */
async function send(type: string): Promise<void> {
  const lasting: Promise<unknown>[] = []
  listeners.get(type)?.({ waitUntil: (promise: Promise<unknown>) => lasting.push(promise) })
  expect(lasting).toHaveLength(1)
  await Promise.all(lasting)
}

const worker = (precache: string[]) =>
  fire({ baseUrl: `${SCOPE}pay/`, respond: async () => new Response() }, { precache })

test('a worker fetches all files, stores them, names the version and only then takes over', async () => {
  worker(['./', 'app.js'])
  await send('install')
  const order = ['fetches', 'stores', '?is=next', '?is=current', 'takes over']
  const steps = done.map((step) => order.findIndex((start) => step.startsWith(start)))
  expect(steps).toEqual(steps.toSorted((a, b) => a - b))
  expect(steps).toEqual([0, 0, 0, 1, 1, 1, 2, 3, 4])
  await send('activate')
  expect(done.at(-1)).toBe('claims')
})

test('a worker whose files are not all there is not installed, and changes nothing', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  worker(['./', 'missing.js'])
  await expect(send('install')).rejects.toThrow('missing.js')
  await later()
  await later()
  expect(done.filter((step) => !step.startsWith('fetches'))).toEqual([])
  expect([...stored.values()].flatMap((content) => [...content.keys()])).toEqual([])
})
