import { describe, expect, it } from 'vitest'
import { type Answer, type Call, caller } from '../support/api.js'
import { attacked } from '../support/scenes/attacked.js'
import { advance, expectProblem, stopClock } from '../support/scenes/market.js'
import { askCode, mailedCode, newGuest, verify, wrongCode } from '../support/scenes/sign-in.js'
import { newPayer, newSeller } from '../support/scenes/world.js'

/** What strangers who guess at codes can do to the owner of an address, who signs in with a browser. */

const EMAIL = 'ada@example.test'
const start = attacked()

/** A browser: it keeps cookies, and drops those without an age when it closes. */
function browserOf(url: string, fetch: (request: Request) => Promise<Response>) {
  const cookies = new Map<string, { value: string; lasts: boolean }>()
  const set: string[] = []
  const call = caller({
    url,
    async fetch(request) {
      const pairs = [...cookies].map(([name, { value }]) => `${name}=${value}`)
      if (pairs.length > 0) request.headers.set('cookie', pairs.join('; '))
      if (!request.headers.has('origin')) request.headers.set('origin', new URL(url).origin)
      const response = await fetch(request)
      for (const line of response.headers.getSetCookie()) keep(line)
      return response
    },
  })
  function keep(line: string) {
    set.push(line)
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    const age = /Max-Age=(\d+)/i.exec(line)?.[1]
    if (age === '0') cookies.delete(name)
    else cookies.set(name, { value, lasts: age !== undefined })
  }
  const close = () => {
    for (const [name, { lasts }] of cookies) if (!lasts) cookies.delete(name)
  }
  return { call, cookies, set, close }
}

type Browser = ReturnType<typeof browserOf>

const ask = (call: Call, email = EMAIL): Promise<Answer> => call('POST', '/v4/session/code', { body: { email } })

async function signIn(operator: Call, { call }: Pick<Browser, 'call'>, email = EMAIL) {
  await call('GET', '/v4/session')
  expect((await ask(call, email)).status).toBe(202)
  const body = { email, code: await mailedCode(operator, email) }
  expect((await call('POST', '/v4/session/verify', { body })).status).toBe(200)
  expect((await call('GET', '/v4/session')).body.user.email).toBe(email)
}

/** A stranger uses up the guesses of a day. */
async function guess(call: Call) {
  for (let n = 0; n < 4; n++) {
    const own = await newGuest(call)
    expect((await askCode(call, own, EMAIL)).status).toBe(202)
    const wrong = wrongCode(await mailedCode(call, EMAIL))
    for (let tries = 0; tries < 5; tries++) await verify(call, own, EMAIL, wrong)
  }
  expectProblem(await askCode(call, await newGuest(call), EMAIL), 429, 'too_many_tries')
}

async function newWorld() {
  const { call, url, fetch } = await start()
  await stopClock(call)
  return { call, url, fetch, newBrowser: () => browserOf(url, fetch) }
}

/** How the owner's session ends. */
const ends: Record<string, (world: { call: Call }, browser: Browser) => Promise<unknown>> = {
  'signs out': (_, { call }) => call('DELETE', '/v4/session'),
  'closes the browser': async (_, { close }) => close(),
  'comes back after a month': async ({ call }) => advance(call, '31d'),
  'lets another user sign in there': async ({ call }, browser) => {
    await browser.call('DELETE', '/v4/session')
    await signIn(call, browser, 'grace@example.test')
    await browser.call('DELETE', '/v4/session')
  },
}

describe('guesses of strangers stop no owner who has signed in by a code in this browser and', () => {
  it.each(Object.entries(ends))('%s', async (_, end) => {
    const world = await newWorld()
    const browser = world.newBrowser()
    await signIn(world.call, browser)
    await end(world, browser)
    await guess(world.call)
    await signIn(world.call, browser)
  })
})

describe('the cookie of a proven device', () => {
  it('signs nobody in, is kept from scripts and other sites, and names nobody', async () => {
    const { call, newBrowser } = await newWorld()
    const browser = newBrowser()
    await signIn(call, browser)
    const line = browser.set.find((each) => each.startsWith('proven_device='))
    expect(line).toMatch(/^proven_device=[0-9a-z-]+; Max-Age=34560000; Path=\/; HttpOnly; SameSite=Lax$/)
    await browser.call('DELETE', '/v4/session')
    expect((await browser.call('GET', '/v4/session')).body.user).toBeNull()
    expect((await browser.call('GET', '/v4/sessions')).status).toBe(401)
  })

  it('is set once, and never with another cookie', async () => {
    const { call, newBrowser } = await newWorld()
    const browser = newBrowser()
    await signIn(call, browser)
    for (let n = 0; n < 3; n++) await browser.call('GET', '/v4/session')
    expect(browser.set.map((each) => each.split('=')[0])).toEqual(['session_id', 'session_id', 'proven_device'])
  })

  it('counts for no other user, for no page of another origin, and for nobody who invents it', async () => {
    const { call, newBrowser } = await newWorld()
    const [eve, ada] = [newBrowser(), newBrowser()]
    await signIn(call, ada)
    await signIn(call, eve, 'eve@example.test')
    await guess(call)
    expectProblem(await ask(eve.call), 429, 'too_many_tries')
    const known = ada.cookies.get('proven_device')?.value ?? ''
    const [id = '', made = '', mac = ''] = known.split('-')
    for (const value of [
      `${id}-${made}-${'0'.repeat(32)}`,
      `${'0'.repeat(32)}-${made}-${mac}`,
      '.',
      'x',
      `${id}-${made}`,
    ]) {
      eve.cookies.set('proven_device', { value, lasts: true })
      expectProblem(await ask(eve.call), 429, 'too_many_tries')
    }
    const headers = { cookie: `proven_device=${known}`, origin: 'https://shop.example.test' }
    const session = await newGuest(call)
    expectProblem(
      await call('POST', '/v4/session/code', { session, headers, body: { email: EMAIL } }),
      429,
      'too_many_tries',
    )
    expect((await ask(ada.call)).status).toBe(202)
  })

  it('gives whoever collects many of them sixteen limits at most', async () => {
    const { call, newBrowser } = await newWorld()
    let checked = 0
    for (let n = 0; n < 20; n++) {
      const browser = newBrowser()
      await signIn(call, browser)
      await browser.call('DELETE', '/v4/session')
      for (let code = 0; code < 4; code++) {
        if ((await ask(browser.call)).status !== 202) break
        const body = { email: EMAIL, code: wrongCode(await mailedCode(call, EMAIL)) }
        for (let tries = 0; tries < 5; tries++)
          if ((await browser.call('POST', '/v4/session/verify', { body })).status === 401) checked++
      }
      await advance(call, '15m')
    }
    expect(checked).toBeLessThanOrEqual(16 * 20)
  })

  it('is set for no session of an access token, and for none that a header names', async () => {
    const { call, url, fetch, newBrowser } = await newWorld()
    const session = await newGuest(call)
    await askCode(call, session, EMAIL)
    const { session_id } = (await verify(call, session, EMAIL, await mailedCode(call, EMAIL))).body
    const byHeader = await fetch(new Request(`${url}/v4/session`, { headers: { 'x-session-id': session_id } }))
    expect(byHeader.headers.getSetCookie()).toEqual([])
    const { token } = await newPayer(call, await newSeller(call), { email: 'grace@example.test' })
    const browser = newBrowser()
    browser.cookies.set('session_id', {
      value: (await call('POST', '/v4/session', { token })).body.session_id,
      lasts: false,
    })
    expect((await browser.call('GET', '/v4/session')).body.user.email).toBe('grace@example.test')
    expect(browser.set).toEqual([])
  })
})
