import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { isBelow } from '../../adapters/service-worker/precache.js'
import { CookieResponse, headersOf, SessionJar } from '../../adapters/service-worker/session-jar.js'
import { fire, handle } from '../../adapters/service-worker.js'
import { AnswerDropped } from '../../src/core.js'

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
    async match(url: string, { ignoreVary = false } = {}) {
      const found = content.get(url)?.clone()
      return ignoreVary || !found?.headers.has('vary') ? found : undefined
    },
    async put(url: string, response: Response) {
      await later()
      content.set(url, response)
      done.push(name === 'farthing versions' ? url.replace(SCOPE, '') : `stores ${url}`)
    },
  }
}

let isOffline = false
/** What the browser fetched before, which it answers from its own cache unless it is told not to. */
const fetchedBefore = new Map<string, readonly string[]>()

beforeEach(() => {
  isOffline = false
  for (const seen of [done, listeners, stored, fetchedBefore]) Array.isArray(seen) ? seen.splice(0) : seen.clear()
  vi.stubGlobal('registration', { scope: SCOPE })
  vi.stubGlobal('clients', { claim: async () => void done.push('claims') })
  vi.stubGlobal('skipWaiting', async () => void done.push('takes over'))
  vi.stubGlobal('addEventListener', (type: string, listener: (event: unknown) => void) => listeners.set(type, listener))
  vi.stubGlobal('navigator', { locks: { request: async (_: string, job: () => Promise<unknown>) => job() } })
  vi.stubGlobal('caches', {
    open: async (name: string) => ({
      ...cacheNamed(name),
      delete: async (url: string) => stored.get(name)?.delete(url),
    }),
    keys: async () => [...stored.keys()],
    delete: async (name: string) => stored.delete(name),
  })
  vi.stubGlobal('location', new URL(SCOPE))
  vi.stubGlobal('fetch', async (asked: string | { readonly url: string }, { cache = 'default' } = {}) => {
    await later()
    if (isOffline) throw new TypeError('no network')
    const url = typeof asked === 'string' ? asked : asked.url
    const known = cache === 'no-cache' ? undefined : fetchedBefore.get(url)
    const [text, type] = known ?? files.get(url) ?? []
    if (text !== undefined && type !== undefined) fetchedBefore.set(url, [text, type])
    done.push(`fetches ${url}`)
    const headers = { 'content-type': type ?? '', vary: 'cookie' }
    const answer = new Response(text ?? null, { status: type ? 200 : 404, headers })
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

/** The files that a worker fetched, without its scope. */
const fetched = () => done.flatMap((step) => (step.startsWith('fetches ') ? step.slice(8).replace(SCOPE, '/') : []))

test.each([
  ['<link rel="stylesheet" href="a.css">', ['/a.css']],
  ['<link rel=canonical href="a.css">', []],
  ['<link href="a.css"><link rel="my-icon" href="b.css"><script>', []],
  ['<link rel="  next\nmanifest" href="?v=1">', ['/?v=1']],
  [`<img src="blob:${SCOPE}1"><img data-src="no.png"><source src="no.png">`, []],
  ['<LINK href="/i.ico#x" rel="preload icon">', ['/i.ico']],
  ['<img alt="" src=b.png>', ['/b.png']],
  ["<script type='module' src='c.js?x=1&amp;y=2'></script>", ['/c.js?x=1&y=2']],
  ['<!-- <script src="no.js"></script> --><script src=d.js>', ['/d.js']],
  ['<script src="e.js">const a = "<img src=no.png>"</script>', ['/e.js']],
  ['<base href="/sub/"><script src="f.js"></script><img src="/g.png">', ['/sub/f.js', '/g.png']],
  ['<script src="https://other.example.test/no.js"></script><img src="data:image/png,1">', []],
  ['<script src="pay/no.js"></script><img src="http://"><img>', []],
  ['<script src="app.js"></script><script src="h.js"></script><img src="h.js">', ['/h.js']],
])('of a page with %s, these files are stored too: %j', async (html, names) => {
  files.set(SCOPE, [html, 'Text/HTML; charset=utf-8'])
  for (const name of names) files.set(SCOPE + name.slice(1), ['x', 'text/plain'])
  worker(['./', 'app.js', 'app.js#again'])
  await send('install')
  expect(fetched().sort()).toEqual(['/', '/app.js', ...names].sort())
})

/** What the worker answers to a page or a file. Undefined: it leaves the request to the network. */
async function visit(path: string, { mode = 'navigate', method = 'GET' } = {}): Promise<string | undefined> {
  let answer: Promise<Response> | undefined
  const lasting: Promise<unknown>[] = []
  const request = {
    url: new URL(path, SCOPE).href,
    method,
    mode,
    destination: mode === 'navigate' ? 'document' : 'script',
  }
  listeners.get('fetch')?.({
    request,
    respondWith: (given: Promise<Response>) => (answer = given),
    waitUntil: (work: Promise<unknown>) => lasting.push(work),
  })
  const text = await answer?.then((response) => response.text()).catch((error: Error) => error.message)
  await Promise.all(lasting)
  return text
}

const file = (path: string) => visit(path, { mode: 'no-cors' })

test('each visit shows one version of all files: the newest that was stored whole before it', async () => {
  files.set(SCOPE, ['page 1', 'text/html'])
  files.set(`${SCOPE}app.js`, ['script 1', 'text/javascript'])
  worker(['./', 'app.js'])
  await send('install')
  const change = (version: number) => {
    files.set(SCOPE, [`page ${version}`, 'text/html'])
    files.set(`${SCOPE}app.js`, [`script ${version}`, 'text/javascript'])
  }
  const versions = () => [...stored.keys()].filter((name) => name.startsWith('farthing files '))
  change(2)
  expect([await visit('./'), await file('app.js'), versions().length]).toEqual(['page 1', 'script 1', 2])
  // A file that a page loads is no visit.
  done.splice(0)
  expect([await file('app.js'), done]).toEqual(['script 1', []])
  change(3)
  expect([await visit('./?q=1#x'), await file('app.js')]).toEqual(['page 2', 'script 2'])
  expect([await visit('index.html'), await file('app.js'), versions().length]).toEqual(['page 3', 'script 3', 2])
  // Nothing changed, so no version was added, and the one before still answers pages that are open.
  await visit('./')
  expect(versions()).toHaveLength(2)
  files.delete(`${SCOPE}app.js`)
  expect([await visit('./'), await visit('./'), await file('app.js')]).toEqual(['page 3', 'page 3', 'script 3'])
  isOffline = true
  expect([await visit('./'), await visit('elsewhere'), await file('other.js')]).toEqual([
    'page 3',
    'page 3',
    'no network',
  ])
  const left = [await visit('./', { method: 'POST' }), await visit('https://other.example.test/')]
  expect(left).toEqual([undefined, undefined])
})

test('a folder and its index.html are one page, and no other names are alike', async () => {
  for (const name of ['first', 'sub/index.html', 'x', 'a', 'open/']) files.set(SCOPE + name, [name, 'text/html'])
  worker(['first', 'sub/index.html', 'x', 'a', 'open/'])
  isOffline = true
  expect([await visit('x'), await file('x'), [...stored.keys()]]).toEqual([
    ...['no network', 'no network', ['farthing versions']],
  ])
  isOffline = false
  await send('install')
  isOffline = true
  const pages = ['sub/', 'sub/index.html?a', 'open/', 'open/index.html#b', 'x?index.html', 'a']
  const shown: unknown[] = []
  for (const path of pages) shown.push(await visit(path))
  expect(shown).toEqual(['sub/index.html', 'sub/index.html', 'open/', 'open/', 'x', 'a'])
  // Without a network, another page is the first one, and another file is none.
  for (const path of ['index.htmlx', 'aindex.html', 'sub', 'open']) expect(await visit(path), path).toBe('first')
  for (const path of ['sub/', 'open/index.html', 'x?a']) expect(await file(path), path).toBe('no network')
})

test.each([['https://other.example.test/a.js'], ['http://'], ['pay/'], ['pay?x']])('%s cannot be stored', (name) => {
  expect(() => worker(['./', name])).toThrow(TypeError)
})

test('a URL is below a base if it continues it by a slash, a query, a fragment or nothing', () => {
  const urls = ['', '/', '?a', '#a', '/a/b', 's', '.html', 'x/'].map((rest) =>
    isBelow(`${SCOPE}pay${rest}`, `${SCOPE}pay`),
  )
  expect(urls).toEqual([true, true, true, true, true, false, false, false])
  expect(isBelow('https://other.example.test/pay/', `${SCOPE}pay`)).toBe(false)
})

test('the jar of a worker keeps each cookie by its name until it is ended, also for the next worker', async () => {
  const steps: [header: string | undefined, kept: string | undefined][] = [
    [undefined, undefined],
    ['session_id=a; Path=/; HttpOnly', 'session_id=a'],
    ['proven_device=1; Max-Age=900; Path=/', 'session_id=a; proven_device=1'],
    ['session_id=b; Path=/', 'proven_device=1; session_id=b'],
    ['session_id_2=c', 'proven_device=1; session_id=b; session_id_2=c'],
    ['session_id=; max-age=0', 'proven_device=1; session_id_2=c'],
    ['proven_device=; Max-Age=0; Path=/', 'session_id_2=c'],
    ['session_id_2=; Path=/; Max-Age=0', undefined],
  ]
  const jar = new SessionJar(`${SCOPE}pay`)
  for (const [header, kept] of steps) {
    await jar.keep(new CookieResponse(null, header === undefined ? {} : { headers: { 'set-cookie': header } }))
    expect([await jar.cookie(), await new SessionJar(`${SCOPE}pay`).cookie()], header).toEqual([kept, kept])
    expect(await new SessionJar(`${SCOPE}other`).cookie()).toBeUndefined()
  }
})

const OTHER = 'https://other.example.test'
test.each([
  ['GET', 'navigate', `${OTHER}/form`, SCOPE, null],
  ['HEAD', 'cors', SCOPE, SCOPE, null],
  ['POST', 'cors', `${OTHER}/`, SCOPE, SCOPE],
  ['POST', 'navigate', `${OTHER}/form?a`, SCOPE, OTHER],
  ['POST', 'navigate', '', SCOPE, 'null'],
  ['POST', 'navigate', 'about:client', SCOPE, 'null'],
  ['POST', 'navigate', `blob:${OTHER}/1`, SCOPE, 'null'],
  ['GET', 'cors', SCOPE, OTHER, SCOPE],
])('%s in the mode %s from %s to %s has the origin %s', (method, mode, referrer, url, origin) => {
  const request = {
    method,
    mode,
    referrer,
    url,
    headers: new Headers({ 'x-own': '1', origin: 'hidden' }),
  } as unknown as Request
  const headers = headersOf(request, 'session_id=a')
  expect(headers.get('Origin') ?? null).toBe(origin === null ? 'hidden' : origin.replace(/\/$/, ''))
  expect([headers.get('cookie'), headers.get('X-Own'), headers.has('cookie'), headers.has('x-none')]).toEqual([
    ...['session_id=a', '1', true, false],
  ])
  expect([...headers.keys()]).toEqual(['origin', 'x-own'])
  const isFor = (credentials: string) => new SessionJar(SCOPE).isFor({ credentials, url } as Request)
  expect([isFor('include'), isFor('same-origin'), isFor('omit')]).toEqual([true, url === SCOPE, false])
})

/** How a service in a worker answers a request: what it was asked, and what the page gets. */
async function asked(
  url: string,
  respond: () => Promise<Response>,
  { credentials = 'include', ...options }: { standsFor?: string | string[]; credentials?: string } = {},
) {
  const seen: [url: string, origin: unknown, cookie: string | null | undefined][] = []
  const listener = handle(
    {
      baseUrl: `${SCOPE}pay//`,
      async respond(_, source) {
        seen.push([source.url ?? '', source.origin, source.headers?.get('cookie')])
        return respond()
      },
    },
    options,
  )
  let answer: Promise<Response> | undefined
  const request = { url, method: 'GET', mode: 'cors', credentials, referrer: '', headers: new Headers() }
  listener({ request: request as unknown as Request, respondWith: (given) => (answer = given) })
  return { seen, answer: await answer }
}

test('a worker answers what is at or below the bases of its service, by its own base, and nothing else', async () => {
  const standsFor = ['https://pay.example.test/', 'https://other.example.test/x']
  const places: [asked: string, own: string | undefined][] = [
    [`${SCOPE}pay`, `${SCOPE}pay`],
    [`${SCOPE}pay/v4/dq?a=1`, `${SCOPE}pay/v4/dq?a=1`],
    ['https://pay.example.test/v4/dq', `${SCOPE}pay/v4/dq`],
    ['https://other.example.test/x?b', `${SCOPE}pay?b`],
    ['https://other.example.test/', undefined],
    [`${SCOPE}payments`, undefined],
  ]
  for (const [url, own] of places) {
    const { seen, answer } = await asked(url, async () => new Response('answered'), { standsFor })
    expect([seen[0]?.[0], seen[0]?.[1], answer?.status], url).toEqual(
      own ? [own, 'worker', 200] : Array(3).fill(undefined),
    )
  }
})

test('a worker gives the service the cookie that it set, and an error for what the service cannot answer', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  const url = `${SCOPE}pay/v4/session`
  await asked(url, async () => new CookieResponse('', { headers: { 'set-cookie': 'session_id=a; Path=/' } }))
  const next = await asked(url, async () => {
    throw new Error('on purpose')
  })
  expect([next.seen[0]?.[2], next.answer?.status, (await next.answer?.json())?.code]).toEqual([
    ...['session_id=a', 500, 'internal_error'],
  ])
  const other = () => Promise.resolve(new CookieResponse('', { headers: { 'set-cookie': 'session_id=b' } }))
  expect((await asked(url, other, { credentials: 'omit' })).seen[0]?.[2]).toBeNull()
  expect((await asked(url, other)).seen[0]?.[2]).toBe('session_id=a')
  const dropped = await asked(url, async () => {
    throw new AnswerDropped('fault')
  })
  expect([dropped.answer?.type, dropped.answer?.status]).toEqual(['error', 0])
})

test.each([
  ['https://shop.example.test/pay', true],
  ['https://shop.example.test', true],
  ['https://shop.example.test.evil.test/pay', false],
  ['http://shop.example.test/pay', false],
])('a service at %s is in the scope of its worker: %s', (baseUrl, isIn) => {
  const handling = () => handle({ baseUrl, respond: async () => new Response() })
  if (isIn) expect(handling).not.toThrow()
  else expect(handling).toThrow('outside the scope of this worker')
  for (const none of [undefined, {}, { baseUrl }]) expect(() => handle(none as never)).toThrow('need a service')
  vi.stubGlobal('registration', undefined)
  expect(handling).not.toThrow()
})

test('a worker takes over the pages that ask for it, and no others', async () => {
  worker([])
  const say = async (data: unknown) => {
    const lasting: Promise<unknown>[] = []
    listeners.get('message')?.({ data, waitUntil: (work: Promise<unknown>) => lasting.push(work) })
    await Promise.all(lasting)
    return done.splice(0)
  }
  expect([await say('farthing: claim'), await say('claim'), await say(undefined)]).toEqual([['claims'], [], []])
  await send('install')
  expect(done).toEqual(['takes over'])
})
