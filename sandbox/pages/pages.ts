import { Problem } from '../../src/base/problem.js'
import { withoutEnd } from '../../src/base/text/ends.js'
import { pathOfUrl } from '../../src/base/text/url-path.js'
import { type Reply, reply } from '../../src/http/reply.js'
import type { FetchSource, Service } from '../../src/index.js'
import type { SandboxAccess } from '../../src/sandbox/onion/context.js'
import { controlCookie, guardCaller, guardChange, isControlToken } from '../../src/sandbox/onion/guard.js'
import type { Demo } from '../seed/demo.js'
import { builtFile, isBuilt } from './built.js'
import { phonePage } from './phone.js'
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
