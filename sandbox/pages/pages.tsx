import { readFile } from 'node:fs/promises'
import { Problem } from '../../src/base/problem.js'
import { withoutEnd } from '../../src/base/text/ends.js'
import { pathOfUrl } from '../../src/base/text/url-path.js'
import { inline, page } from '../../src/http/pages/html.js'
import { Coin } from '../../src/http/pages/parts.js'
import { type Reply, reply } from '../../src/http/reply.js'
import type { FetchSource, Service } from '../../src/index.js'
import type { SandboxAccess } from '../../src/sandbox/onion/context.js'
import { controlCookie, guardCaller, guardChange, isControlToken } from '../../src/sandbox/onion/guard.js'
import type { Key } from '../../src/storage/storage.js'
import script from '../phone/page.tsx?script'
import type { Demo } from '../seed/demo.js'
import { pagesStyle, phoneStyle } from './pages-style.js'
import { archive, readDemoState, shopPage, unlock } from './shop.js'

export interface SandboxPages {
  readonly service: Service
  /** Pages show the demo only if the service's state has it. */
  readonly demo: Demo
  /** Who else may open the pages; the same as for the service. Default: only this machine and its pages. */
  readonly reach?: SandboxAccess
  /** The folder with the built offline demo and workbench. */
  readonly built?: URL
}

type Page = (options: SandboxPages, request: Request) => Promise<Reply<object>>

const pages: Record<string, Partial<Record<string, Page>>> = {
  '/shop': {
    GET: async (options) => ((await readDemoState(options)) ? shopPage(options.demo) : toWorkbench('try')),
  },
  '/phone': { GET: async (options) => (await phonePage(options)) ?? toWorkbench('inbox') },
  '/outbox': { GET: async () => toWorkbench('inbox') },
  '/shop/archive': { GET: archive },
  '/shop/unlock': { POST: unlock },
}

/** Pages of the demo that another seed does not have lead to the view that shows the same. */
const toWorkbench = (view: string): Reply => reply({ status: 303, headers: { location: `/#/${view}` }, body: null })

/**
 * Answers the sandbox's pages: the workbench at `/` and at each fork, `/shop`, `/shop/archive`, `/shop/unlock`, `/phone`, `/outbox`
 * and the files of `/demo/`. Everything else goes to the service.
 */
export function sandboxPages(options: SandboxPages): Pick<Service, 'respond' | 'waiting'> {
  return {
    waiting: options.service.waiting,
    respond(request, source) {
      const methods = pagesAt(request.url)
      if (!methods) return options.service.respond(request, source)
      const page = methods[request.method === 'HEAD' ? 'GET' : request.method]
      return page ? answer(page, options, request, source) : refuseMethod(Object.keys(methods), source)
    },
  }
}

function pagesAt(url: string): (typeof pages)[string] | undefined {
  const place = placeOf(url)
  return pages[withoutSlash(place)] ?? (isBuilt(place) ? { GET: builtPage } : undefined)
}

const builtPage: Page = ({ built }, { url }) => builtFile(placeOf(url), built)

/**
 * Moves the control token from a page's address into a cookie and redirects to the address without it, so that neither the history
 * nor a `Referer` shows it. Throws `sandbox_refused` if the token is wrong.
 */
function takeControlToken(address: string, reach: SandboxAccess): Record<string, string> | undefined {
  const url = new URL(address)
  const token = url.searchParams.get('control_token')
  if (token === null) return undefined
  if (!isControlToken(token, reach))
    throw new Problem('sandbox_refused', {
      detail: 'The control token in the address is wrong. Copy the one that the sandbox prints when it starts.',
    })
  url.searchParams.delete('control_token')
  const location = placeOf(address) + url.search
  return { location, 'set-cookie': controlCookie(token, address), 'referrer-policy': 'no-referrer' }
}

/** The path of a URL. Files are relative to a folder, which ends with a slash. */
function placeOf(url: string): string {
  const path = pathOfUrl(url)
  return withoutSlash(path) === '/' ? '/' : path
}

const withoutSlash = (path: string): string => withoutEnd(path, '/') || '/'

const LOCAL_ONLY = { controlToken: undefined, allowOrigins: [], allowHosts: [] }

async function answer(page: Page, options: SandboxPages, request: Request, source?: FetchSource): Promise<Response> {
  const reach = options.reach ?? LOCAL_ONLY
  try {
    const { method, url } = request
    const guarded = { baseUrl: options.service.baseUrl, sandbox: reach }
    const asked = { method, url, headers: source?.headers ?? request.headers, source: source ?? {} }
    guardCaller({ ...asked, path: withoutSlash(placeOf(url)) }, guarded)
    guardChange(asked, guarded)
    const taken = method === 'GET' ? takeControlToken(url, reach) : undefined
    if (taken) return rendered(source, null, 303, taken)
    const { status = 200, headers, body, value } = await page(options, request)
    const text = body === undefined ? JSON.stringify(value) : body
    return rendered(source, request.method === 'HEAD' ? null : text, status, headers)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return rendered(source, JSON.stringify(error.bodyAt(options.service)), error.status, error.headers)
  }
}

async function refuseMethod(methods: string[], source?: FetchSource): Promise<Response> {
  const allow = methods.join(', ')
  const body = { error: `This page accepts only ${allow}.`, status: 405, code: 'method_not_allowed' }
  return rendered(source, JSON.stringify(body), 405, { allow })
}

function rendered(
  source: FetchSource | undefined,
  body: Reply['body'] | null,
  status: number,
  headers: Readonly<Record<string, string>>,
): Response {
  const ResponseClass = source?.Response ?? Response
  const json = { 'content-type': 'application/json', 'cache-control': 'no-store' }
  const common = { ...json, 'x-content-type-options': 'nosniff' }
  return new ResponseClass(body ?? null, { status, headers: { ...common, ...headers } })
}

/** What the build made for browsers, in the folder of the offline demo. It can be put on any server. */
const types: Readonly<Record<string, string>> = {
  'coin.svg': 'image/svg+xml',
  'index.html': 'text/html',
  'page.js': 'text/javascript',
  'style.css': 'text/css',
  'worker.js': 'text/javascript',
  'workbench.html': 'text/html',
  'workbench/index.html': 'text/html',
  'workbench/page.js': 'text/javascript',
  'workbench/style.css': 'text/css',
  'workbench/coin.svg': 'image/svg+xml',
}

/** Whether the path is that of a file of the offline demo or of the workbench. */
const isBuilt = (path: string): boolean => path === '/demo' || fileAt(path) !== undefined

/** Answers with a file of the offline demo or of the workbench. */
async function builtFile(path: string, built: URL | undefined): Promise<Reply> {
  // Addresses in the files are relative to the folder.
  if (path === '/demo') return reply({ status: 308, headers: { location: 'demo/' }, body: null })
  const file = fileAt(path)
  const body = file && built && (await readFile(new URL(file, built), 'utf8').catch(() => undefined))
  if (file === undefined || body === undefined) return notBuilt
  return reply({
    headers: {
      'content-type': `${types[file]}; charset=utf-8`,
      'cache-control': 'no-cache',
      'content-security-policy': "frame-ancestors 'none'",
    },
    body,
  })
}

/** The sandbox and each of its forks have the workbench at their own address. */
const WORKBENCH_PATH = /^(?:\/_sandbox\/forks\/\w+)?\/((?:workbench\/[\w.]+)?)$/

function fileAt(path: string): string | undefined {
  const [, own] = WORKBENCH_PATH.exec(path) ?? []
  const ofDemo = path.startsWith('/demo/') ? path.slice('/demo/'.length) || 'index.html' : ''
  const file = own === undefined ? ofDemo : own || 'workbench/index.html'
  return Object.hasOwn(types, file) ? file : undefined
}

const notBuilt = page({
  title: 'Not built',
  status: 404,
  styles: [pagesStyle],
  body: (
    <main>
      <Coin />
      <h1>This page is not built</h1>
      <p>
        Run <code>npm run build</code>, or start the sandbox with <code>npm start</code>, which builds it.
      </p>
    </main>
  ),
})

const phoneScript = inline(script)

/** The page with the phone of the demo's payer. Undefined if the state has no such user. */
async function phonePage({ service, demo }: SandboxPages): Promise<Reply | undefined> {
  const { email } = demo.payer
  const { rows } = await service.sandbox.snapshot()
  const user = rows.users?.find((each) => 'email' in each && each.email === email)
  return (
    user &&
    page({
      title: "The payer's phone",
      styles: [pagesStyle, phoneStyle],
      script: phoneScript,
      policy: { 'connect-src': "'self'" },
      body: <PhonePage userId={user.id} email={email} />,
    })
  )
}

const PhonePage = ({ userId, email }: { userId: Key; email: string }) => (
  <main>
    <div class="phone">
      <header>
        <Coin />
        <h1>The payer's phone</h1>
        <p class="small">
          <code>{email}</code>
        </p>
      </header>
      <div id="phone" data-user-id={userId} data-email={email} />
    </div>
    <footer class="small">
      <a href="/">The sandbox</a>
    </footer>
  </main>
)
