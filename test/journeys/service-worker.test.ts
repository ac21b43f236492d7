import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import type { register } from '../../adapters/service-worker.js'
import { demo } from '../../sandbox/seed/demo.js'
import type { loadMicroPayments as load } from '../../src/market/embeds/browser/element.client.js'
import { openSite, registerWorker, stopWorkers, workerSite } from '../support/browser/worker-site.js'
import { journey, parts, signIn } from '../support/scenes/journey.js'

/** Of the page that has the element's script. */
declare const loadMicroPayments: typeof load
type Register = typeof register

const { page, lasting, site } = journey()
const own = workerSite({
  '/own/below/worker.js': ['text/javascript', () => own.scripts.worker],
  '/own/module.js': ['text/javascript', () => `${own.scripts.worker}\nvoid import.meta.url`],
  '/own/failing.js': ['text/javascript', () => 'throw new Error("on purpose")'],
})
let origin: string
beforeAll(() => {
  origin = own.origin
})

/** A page whose requests the worker answers. */
async function visited(shown?: Page): Promise<Page> {
  const there = shown ?? (await page())
  await openSite(there, origin)
  await registerWorker(there, 'worker.js')
  return there
}

let answered: Promise<Page> | undefined
/** The same for tests that need no worker of their own. What earlier ones stored is gone. */
async function answering(): Promise<Page> {
  const shown = await (answered ??= lasting().then(visited))
  expect(await ask(shown, 'pay/_sandbox/reset', { method: 'POST' })).toMatchObject({ status: 204 })
  return shown
}

interface Got {
  status: number
  body: any
}

const ask = (shown: Page, path: string, init: RequestInit = {}): Promise<Got> =>
  shown.evaluate(
    async ([path, init]) => {
      const answer = await fetch(path, init)
      const text = await answer.text()
      return { status: answer.status, body: text && JSON.parse(text) }
    },
    [path, init] as const,
  )

const send = (shown: Page, path: string, body: object): Promise<Got> =>
  ask(shown, path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

/** Signs the page in by cookie alone. */
async function signedIn(shown: Page): Promise<void> {
  const { email, code } = demo.payer
  await ask(shown, 'pay/v4/session')
  expect(await send(shown, 'pay/v4/session/code', { email })).toMatchObject({ status: 202 })
  expect(await send(shown, 'pay/v4/session/verify', { email, code })).toMatchObject({ status: 200 })
}

const userOf = async (shown: Page, init?: RequestInit) => (await ask(shown, 'pay/v4/session', init)).body.user?.email

describe('register', () => {
  test('resolves once the worker answers the page, on the first and every later visit', async () => {
    const first = await answering()
    expect((await ask(first, 'pay/v4/dq')).status).toBe(200)
    await first.reload()
    await visited(first)
    expect((await ask(first, 'pay/v4/dq')).status).toBe(200)
  })

  test('recovers a page that was reloaded past its worker', async () => {
    const first = await answering()
    const session = await first.context().newCDPSession(first)
    const loaded = first.waitForEvent('load')
    await session.send('Page.reload', { ignoreCache: true })
    await loaded
    await first.waitForFunction('globalThis.register')
    expect(await first.evaluate(() => navigator.serviceWorker.controller)).toBeNull()
    await registerWorker(first, 'worker.js')
    expect((await ask(first, 'pay/v4/dq')).status).toBe(200)
  })

  test('reports missing worker support, a page out of scope and a failing script', async () => {
    const shown = await page()
    await openSite(shown, origin)
    const refusal = (script: string) =>
      shown.evaluate((script) => {
        const { register } = globalThis as unknown as { register: Register }
        return register(script).then(String, (error: Error) => error.message)
      }, script)
    expect(await refusal('below/worker.js')).toMatch(/^This page is out of the worker's scope, http:.*\/own\/below\/:/)
    expect(await refusal('failing.js')).toMatch(
      /^The worker failing.js cannot be registered. .*ServiceWorker.* format iife: import.meta, and import and export at the top, work only with { type: 'module' }.$/,
    )
    await shown.evaluate(() => Object.defineProperty(navigator, 'serviceWorker', { value: undefined }))
    expect(await refusal('worker.js')).toBe(
      'No service worker can run here: serve the page over https, or from localhost.',
    )
  })

  test('takes an ES module as one only with its type, and says so', async () => {
    const shown = await page()
    await openSite(shown, origin)
    const registered = (script: string, options?: RegistrationOptions) =>
      shown.evaluate(
        ([script, options]) => {
          const { register } = globalThis as unknown as { register: Register }
          return register(script, options).then(
            () => 'registered',
            (error: Error) => error.message,
          )
        },
        [script, options] as const,
      )
    const asScript = await registered('module.js')
    expect(asScript).toMatch(/^The worker module.js cannot be registered. .* in the format iife: import.meta/)
    expect(await registered('failing.js', { type: 'module' })).toMatch(
      /^The worker failing.js cannot be registered. .* Bundle it to one file: a worker cannot load a part of itself later.$/,
    )
    expect(await registered('module.js', { type: 'module' })).toBe('registered')
    expect((await ask(shown, 'pay/v4/dq')).status).toBe(200)
  })

  test('reports a newer worker, which continues with the same state', async () => {
    const shown = await visited()
    await signedIn(shown)
    const before = own.scripts.worker
    own.scripts.worker += '\n// A newer one.'
    try {
      const updated = shown.evaluate(async () => {
        const { register } = globalThis as unknown as { register: Register }
        await new Promise<void>((onUpdate) => void register('worker.js', { onUpdate }).then((it) => it.update()))
      })
      await updated
      expect(await userOf(shown)).toBe(demo.payer.email)
    } finally {
      own.scripts.worker = before
    }
  })
})

describe('a worker', () => {
  test('answers below the base URL of its service, and leaves everything else to the network', async () => {
    const shown = await answering()
    expect((await ask(shown, 'pay/v4/openapi.json')).body.servers).toEqual([{ url: `${origin}/own/pay` }])
    expect(await ask(shown, 'pay/nothing')).toMatchObject({ status: 404, body: { code: 'no_such_path' } })
    for (const path of ['payment', 'paying/v4/dq', '../pay/v4/dq'])
      expect(await shown.evaluate(async (path) => (await fetch(path)).text(), path)).toBe('not of this site')
  })

  test('answers for an address that stands for its service', async () => {
    const shown = await answering()
    expect((await ask(shown, 'https://pay.example.test/money/v4/dq')).status).toBe(200)
    expect((await ask(shown, 'https://pay.example.test/money/v4/account')).body.code).toBe('authorization_missing')
    for (const url of ['https://pay.example.test/v4/dq', 'https://pay.example.test/moneybox/v4/dq'])
      await expect(ask(shown, url)).rejects.toThrow('Failed to fetch')
    // Of another origin, cookies go along only where the page says so, as in any browser.
    await signedIn(shown)
    const there = 'https://pay.example.test/money/v4/session'
    expect((await ask(shown, there)).body.user).toBeNull()
    expect((await ask(shown, there, { credentials: 'include' })).body.user.email).toBe(demo.payer.email)
  })

  test('streams events one by one while the answer is still open', async () => {
    const shown = await answering()
    const heard = await shown.evaluate(
      () =>
        new Promise<string[]>((resolve) => {
          const events: string[] = []
          const source = new EventSource('pay/live')
          source.onmessage = ({ data }) => {
            if (events.push(data) < 3) return
            source.close()
            resolve(events)
          }
        }),
    )
    expect(heard).toEqual(['1', '2', '3'])
  })

  test('passes redirects on, and answers 500 for errors in front of the service', async () => {
    const shown = await answering()
    expect(await shown.evaluate(async () => (await fetch('pay/moved')).url)).toBe(`${origin}/own/pay/v4/dq`)
    expect(await ask(shown, 'pay/broken')).toEqual({
      status: 500,
      body: { error: 'The service failed.', status: 500, code: 'internal_error' },
    })
  })

  test('keeps sessions, tokens, nonces and the clock after it was stopped', async () => {
    const shown = await answering()
    await signedIn(shown)
    await send(shown, 'pay/_sandbox/clock', { mode: 'manual' })
    const { body: clock } = await send(shown, 'pay/_sandbox/clock', { advance: '10m' })
    await stopWorkers(shown)
    expect(await userOf(shown)).toBe(demo.payer.email)
    expect((await ask(shown, 'pay/_sandbox/clock')).body).toEqual(clock)
    const paid = await send(shown, `pay/v4/payment/${demo.commodities.article}`, {})
    expect(paid.status).toBe(202)
    await stopWorkers(shown)
    const basic = `Basic ${btoa(`${demo.account.client_id}:${demo.account.client_secret}`)}`
    const token = await ask(shown, 'pay/v4/account/oauth/token', { method: 'POST', headers: { authorization: basic } })
    const validate = () =>
      ask(shown, `pay/v4/payment/${demo.commodities.article}/validate`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token.body.access_token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ nonce: paid.body.nonce, timestamp: paid.body.timestamp }),
      })
    expect((await validate()).status).toBe(200)
    await stopWorkers(shown)
    expect(await validate()).toMatchObject({ status: 400, body: { code: 'nonce_used' } })
    expect((await ask(shown, 'pay/_sandbox/ledger')).body.ok).toBe(true)
  })
})

describe('the session cookie of a worker', () => {
  test('stays hidden from its pages and lasts until sign-out', async () => {
    const shown = await answering()
    const id = async (init?: RequestInit) => (await ask(shown, 'pay/v4/session', init)).body.session_id
    const issued = await id()
    expect(await id()).toBe(issued)
    expect(await id({ credentials: 'omit' })).not.toBe(issued)
    expect(await id()).toBe(issued)
    await signedIn(shown)
    expect(await id()).not.toBe(issued)
    expect(await shown.evaluate(() => document.cookie)).toBe('')
    const other = await visited(await shown.context().newPage())
    await stopWorkers(shown)
    for (const tab of [shown, other]) expect(await userOf(tab)).toBe(demo.payer.email)
    expect(await userOf(shown, { credentials: 'omit' })).toBeUndefined()
    expect((await ask(other, 'pay/v4/session', { method: 'DELETE' })).status).toBe(204)
    await stopWorkers(shown)
    expect(await userOf(shown)).toBeUndefined()
  })

  test('is refused for a form on another site, and accepted in a frame of its own page', async () => {
    const shown = await answering()
    await signedIn(shown)
    const form = `<form method="post" action="${origin}/own/pay/v4/session/code"><input name="email" value="eve@example.test"><button>Send</button></form>`
    const { url } = await site(`<!doctype html><title>Another site</title><link rel="icon" href="data:,">${form}`)
    const evil = await shown.context().newPage()
    await evil.goto(url)
    await evil.getByRole('button').click()
    await evil.waitForURL(/session\/code/)
    expect(JSON.parse((await evil.locator('body').textContent()) ?? '')).toMatchObject({ code: 'cross_site' })

    await shown.evaluate((form) => {
      const frame = Object.assign(document.createElement('iframe'), { srcdoc: form, name: 'own' })
      document.body.append(frame)
    }, form)
    const frame = shown.frameLocator('iframe')
    await frame.getByRole('button').click()
    await expect.poll(() => frame.locator('body').textContent()).toMatch(/^\{"expires_at":\d+\}$/)
    const { body } = await ask(shown, 'pay/_sandbox/outbox?to=eve@example.test')
    expect(body.messages).toHaveLength(1)
  })
})

test('a reader loads a payment element, signs in and pays, and the worker answers every request', async () => {
  const shown = await answering()
  await shown.addScriptTag({ url: 'pay/micropay.js', type: 'module' })
  await shown.evaluate(
    async ({ secret, hash }) => {
      document.body.innerHTML = '<div id="pay"></div>'
      document.addEventListener('payment', ({ detail }) => Object.assign(globalThis, { paid: detail }))
      await loadMicroPayments(secret).elements().create('payment', { hash }).mount('#pay')
    },
    { secret: demo.account.public_secret, hash: demo.commodities.article },
  )
  const embed = parts(shown.frameLocator('#pay iframe'))
  const call = async (method: string, path: string) =>
    ({ ...(await ask(shown, `pay${path}`, { method })), headers: new Headers(), text: '' }) as never
  await signIn({ url: '', call, close: async () => {} }, embed, demo.payer.email)
  await embed.pay.click()
  await shown.waitForFunction('globalThis.paid')
  expect(await shown.evaluate('paid.hostname')).toBe(demo.payer.hostname)
})
