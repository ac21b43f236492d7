import { afterEach, expect, test, vi } from 'vitest'
import { register } from '../../adapters/service-worker/register.js'

const SCOPE = 'https://shop.example.test/app/'
type Phase = 'installing' | 'waiting' | 'active'

afterEach(() => vi.unstubAllGlobals())

/** The parts of a browser that registering uses: its one worker is in a phase, and goes on when the test says so. */
function browser({
  phase = 'active' as Phase | null,
  page = `${SCOPE}buy?item=1`,
  controlled = false,
  refusal = undefined as unknown,
}) {
  const said: unknown[] = []
  const asked: unknown[] = []
  const worker = Object.assign(new EventTarget(), {
    state: 'installing',
    scriptURL: `${SCOPE}sw.js`,
    postMessage: (message: unknown) => void said.push(message),
  })
  const registration = {
    scope: SCOPE,
    installing: null,
    waiting: null,
    active: null,
    ...(phase && { [phase]: worker }),
  }
  const workers = Object.assign(new EventTarget(), {
    controller: controlled ? worker : null,
    async register(...given: unknown[]) {
      asked.push(given)
      if (refusal !== undefined) throw refusal
      return registration
    },
  })
  vi.stubGlobal('navigator', { serviceWorker: workers })
  vi.stubGlobal('location', new URL(page))
  return {
    said,
    asked,
    registration,
    worker,
    workers,
    becomes(state: string) {
      worker.state = state
      worker.dispatchEvent(new Event('statechange'))
    },
    takesOver() {
      workers.controller = worker
      workers.dispatchEvent(new Event('controllerchange'))
    },
  }
}

/** What a promise has become by now: its value, the message of its error, or `waits`. */
async function stateOf(promise: Promise<unknown>): Promise<unknown> {
  let state: unknown = 'waits'
  const become = (value: unknown) => (state = value instanceof Error ? value.message : value)
  promise.then(become, become)
  await new Promise((resolve) => setTimeout(resolve))
  return state
}

test.each<Phase>(['installing', 'waiting'])(
  'a page waits for a worker that is %s, and lets it take over',
  async (phase) => {
    const { said, registration, becomes, takesOver } = browser({ phase })
    const registering = register('sw.js')
    for (const state of ['installed', 'activating']) {
      becomes(state)
      expect([await stateOf(registering), said]).toEqual(['waits', []])
    }
    becomes('activated')
    expect([await stateOf(registering), said]).toEqual(['waits', ['farthing: claim']])
    takesOver()
    expect(await stateOf(registering)).toBe(registration)
  },
)

test('a page without its active worker asks for it, and one with it asks for nothing', async () => {
  const alone = browser({})
  const registering = register('sw.js')
  expect([await stateOf(registering), alone.said]).toEqual(['waits', ['farthing: claim']])
  alone.takesOver()
  expect(await stateOf(registering)).toBe(alone.registration)

  const controlled = browser({ controlled: true })
  expect([await stateOf(register('sw.js')), controlled.said]).toEqual([controlled.registration, []])

  const quick = browser({})
  quick.worker.postMessage = () => {
    quick.workers.controller = quick.worker
  }
  expect(await stateOf(register('sw.js'))).toBe(quick.registration)
})

test('a page hears of each newer worker, and not of its first one', async () => {
  const { asked, takesOver, registration } = browser({})
  const updates: number[] = []
  const registering = register('sw.js', { type: 'module', scope: './', onUpdate: () => updates.push(updates.length) })
  await stateOf(registering)
  takesOver()
  expect(await stateOf(registering)).toBe(registration)
  expect([updates, asked]).toEqual([[], [['sw.js', { type: 'module', scope: './' }]]])
  takesOver()
  takesOver()
  expect(updates).toEqual([0, 1])
})

test.each<[why: RegExp, given: Parameters<typeof browser>[0], then: string | undefined]>([
  [/^No worker was registered for https:\/\/shop\.example\.test\/app\/\.$/, { phase: null }, undefined],
  [
    /^This page is out of the worker's scope, https:\/\/shop\.example\.test\/app\/: /,
    { page: 'https://shop.example.test/' },
    undefined,
  ],
  [
    /^The worker https:\/\/shop\.example\.test\/app\/sw\.js could not be installed; /,
    { phase: 'installing' },
    'redundant',
  ],
  [
    /^The worker sw\.js cannot be registered\. It failed\. .*format iife/,
    { refusal: new Error('It failed') },
    undefined,
  ],
  [
    /^The worker sw\.js cannot be registered\. It failed\. .*format iife/,
    { refusal: new Error('It failed.') },
    undefined,
  ],
  [/^The worker sw\.js cannot be registered\. no text\. /, { refusal: 'no text' }, undefined],
])('registering fails with %s', async (why, given, then) => {
  const { becomes } = browser(given)
  const registering = register('sw.js')
  if (then) {
    expect(await stateOf(registering)).toBe('waits')
    becomes(then)
  }
  expect(await stateOf(registering)).toMatch(why)
})

test('an ES module gets other advice, and the error says what the browser said', async () => {
  const refusal = new Error('It failed')
  browser({ refusal })
  const error = (await register('sw.js', { type: 'module' }).catch((thrown) => thrown)) as Error
  expect(error.message).toMatch(/It failed\. Bundle it to one file: a worker cannot load a part of itself later\.$/)
  expect(error.cause).toBe(refusal)
})

test('a browser without workers is told what it needs', async () => {
  for (const navigator of [{}, { serviceWorker: undefined }]) {
    vi.stubGlobal('navigator', navigator)
    await expect(register('sw.js')).rejects.toThrow(/^No service worker can run here: serve the page over https/)
  }
})
