import { beforeAll, describe, expect, it } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { type Evidence, evidenceGrades, isWeaker } from '../../src/base/evidence.js'
import type * as z from '../../src/http/fields/zod.js'
import { isGraded, type Route } from '../../src/http/route.js'
import { createService, type Service } from '../../src/index.js'
import type { Storage } from '../../src/storage/storage.js'
import { isObject } from '../../src/storage/unknown.js'
import { nodeServer } from '../runtimes/node-server.js'
import { type Call, routeOf } from '../support/api.js'
import { fieldsByGrade, standardClaims } from '../support/contract/observed-fields.js'
import { operations } from '../support/contract/operations.js'
import { sendNode } from '../support/contract/wire.js'
import { callsWithoutFields, refusedCalls } from '../support/examples/refusals.js'
import { onTour, STARTED, takeTour } from '../support/examples/tour.js'
import { howMuch } from '../support/how-much.js'
import { claimsIn } from '../support/scenes/oidc.js'
import { defaultDq, newReader, newSeller } from '../support/scenes/world.js'

/**
 * Every call of a tour of all operations, and of one of their refusals, is sent again to services of each strict mode that
 * have the same state. What they take and answer is compared with tables of what is known, and with no mark of the code.
 */

const strictModes = ['documented', 'observed', 'named'] as const

interface Asked {
  readonly method: string
  readonly path: string
  readonly request: Request
  readonly route: Route
  /** All rows right before the call. */
  readonly rows: Storage
  readonly status: number
  readonly body: unknown
}

const asked: Asked[] = []
const outcomes = new Map<string, number>()

beforeAll(async () => {
  await record((pass, options) => onTour(pass, (call) => weakForms(call), options))
  await record(takeTour)
  await record((pass, options) => onTour(pass, (call) => refusedCalls(call), options))
  await record((pass, options) => onTour(pass, (call) => callsWithoutFields(call), options))
}, 120_000)

/** Calls in forms of our own, which no tour shows. */
async function weakForms(call: Call): Promise<void> {
  const seller = await newSeller(call)
  const { token } = await newReader(call, seller, { email: 'maria@example.test' })
  const body = { dq: await defaultDq(call) }
  const { id } = (await call('POST', '/v4/twin', { token, body, headers: { 'idempotency-key': 'once' } })).body
  await call('GET', `/v4/twin/${id}`, { token })
  const phone = { fcmToken: `${'a'.repeat(20)}:${'b'.repeat(140)}`, platform: 'ios', deviceId: 'phone' }
  await call('POST', '/v3/pay/notifications/register', { token, body: phone, headers: { 'x-device-token': 'first' } })
}

/** Whether a strict mode has the operation. The contract of evidence tries the others, and pages. */
const isStrong = (route: Route): boolean =>
  isGraded(route) &&
  operations.some((operation) => operation.route === route && knows('named', `${route.method} ${operation.path}`))

/** The rows as they are, which share what neither changes. */
async function forkOf(storage: Storage): Promise<Storage> {
  const fork = await storage.fork?.()
  if (!fork) throw new Error('This storage cannot be forked.')
  return fork
}

async function record(tour: typeof takeTour): Promise<void> {
  const storage = memoryStorage()
  await tour(
    async (request, fetch, turn) => {
      const path = request.url.slice(new URL(request.url).origin.length)
      const found = routeOf(request.method, path)
      if (turn.seed === undefined || !found || !isStrong(found.route)) return fetch(request)
      const kept = request.clone()
      const rows = await forkOf(storage)
      const response = await fetch(request)
      const { route, version } = found
      // Of refusals one is enough.
      const outcome = `${route.id} ${version} ${response.status}`
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      if ((outcomes.get(outcome) ?? 0) > (response.ok ? 2 : howMuch(1, 2))) return response
      const isJson = response.headers.get('content-type') === 'application/json'
      const body = isJson ? await response.clone().json() : undefined
      asked.push({ method: request.method, path, request: kept, route, rows, status: response.status, body })
      return response
    },
    { storage },
  )
}

/** A table of the fields that a mode knows of an operation. */
function known(mode: Evidence, name: string): { sends: Set<string>; answers: Set<string> } {
  const tables = evidenceGrades.filter((grade) => !isWeaker(grade, mode)).map((grade) => fieldsByGrade[grade])
  const rows = tables.map((table) => (table as Record<string, { sends?: string[]; answers?: string[] }>)[name] ?? {})
  return {
    sends: new Set(rows.flatMap(({ sends = [] }) => sends)),
    answers: new Set(rows.flatMap(({ answers = [] }) => answers)),
  }
}

const knows = (mode: Evidence, name: string): boolean =>
  evidenceGrades.some((grade) => !isWeaker(grade, mode) && name in fieldsByGrade[grade])

type Definition = z.core.$ZodTypes['_zod']['def']

/** The paths of the fields that a value has. The schema says only which objects are maps. */
function pathsIn(schema: z.core.$ZodType | undefined, value: unknown, path = ''): string[] {
  const definition = schema?._zod.def as Definition | undefined
  switch (definition?.type) {
    case 'object':
      if (!isObject(value)) return []
      return Object.entries(value).flatMap(([name, part]) => [
        path + name,
        ...pathsIn(definition.shape[name], part, `${path}${name}.`),
      ])
    case 'array':
      if (!Array.isArray(value)) return []
      return value.flatMap((item) => pathsIn(definition.element, item, path.replace(/\.?$/, '[].')))
    case 'tuple':
      if (!Array.isArray(value)) return []
      return value.flatMap((item, n) => pathsIn(definition.items[n], item, path.replace(/\.?$/, '[].')))
    case 'record':
      if (!isObject(value)) return []
      return Object.values(value).flatMap((part) => pathsIn(definition.valueType, part, path.replace(/\.?$/, '{}.')))
    case 'union':
      return definition.options.flatMap((option) => pathsIn(option, value, path))
    case 'optional':
    case 'nullable':
      return pathsIn(definition.innerType, value, path)
    default:
      return []
  }
}

/** Headers of our own that an operation may take. */
const ownHeaders = ['idempotency-key', 'x-device-token']

/** The names that a request gives to fields of the operation. */
async function sentFields({ request, route }: Pick<Asked, 'request' | 'route'>): Promise<string[]> {
  const named = (schema: Route['body'], names: Iterable<string>) =>
    [...names].filter((name) => schema && name in schema.shape)
  const query = named(route.query, new URL(request.url).searchParams.keys())
  const text = await request.clone().text()
  const isForm = request.headers.get('content-type')?.startsWith('application/x-www-form-urlencoded')
  return [...query, ...named(route.body, isForm ? new URLSearchParams(text).keys() : namesIn(text))]
}

function namesIn(text: string): string[] {
  try {
    return Object.keys(JSON.parse(text))
  } catch {
    return []
  }
}

/** A call under a version of its operation. */
interface Case extends Asked {
  readonly name: string
}

/** The calls under each version of their operations. */
const cases = (): Case[] =>
  asked.flatMap((call) =>
    operations
      .filter(({ route }) => route === call.route)
      .map(({ version, path }) => {
        const url = version ? call.request.url.replace(/\/v\d(?=\/)/, `/${version}`) : call.request.url
        return { ...call, name: `${call.method} ${path}`, request: new Request(url, call.request.clone()) }
      }),
  )

/** The call with only those fields that a mode knows. */
async function strengthened(mode: Evidence, { request, ...call }: Case): Promise<Case> {
  const { sends } = known(mode, call.name)
  const isKnown = ([name]: [string, unknown]) => sends.has(name)
  const url = new URL(request.url)
  url.search = new URLSearchParams([...url.searchParams].filter(isKnown)).toString()
  const headers = new Headers(request.headers)
  for (const header of ownHeaders) headers.delete(header)
  const text = await request.clone().text()
  const isJson = namesIn(text).length > 0
  const body = isJson ? JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(text)).filter(isKnown))) : text
  return { ...call, request: new Request(url, { method: call.method, headers, ...(text && { body }) }) }
}

/** Every phone approves at once. */
async function approveAll({ fetch, sandbox }: Service): Promise<void> {
  const body = JSON.stringify({ mode: 'approve', after_seconds: 0 })
  const headers = { 'content-type': 'application/json' }
  for (const { id } of (await sandbox.rows('users', { limit: 100 })).rows)
    await fetch(`/_sandbox/devices/${id}`, { method: 'POST', headers, body })
}

/** Whether a mode must refuse what a request is, or what it holds. */
async function isRefused(mode: Evidence, { name, request, route, path }: Case): Promise<boolean> {
  if (!knows(mode, name)) return true
  const { sends } = known(mode, name)
  const sent = await sentFields({ request, route })
  const isId = mode === 'documented' && /^\/v\d\/twin\/\d+$/.test(path)
  return isId || ownHeaders.some((header) => request.headers.has(header)) || sent.some((field) => !sends.has(field))
}

/** Sends a call again to a service of a mode, with the state that there was. */
async function again(mode: Evidence, { name, request, rows }: Case) {
  const storage = await forkOf(rows)
  const upstream = { fetch: async () => Response.json({ forecast: 'Sun.' }) }
  const service = createService({
    storage,
    upstream,
    clock: { now: () => STARTED },
    sandbox: true,
    evidence: mode,
    log: { error() {} },
    limits: { closeMs: 0 },
  })
  try {
    if (name === 'POST /v3/paywall') await approveAll(service)
    const response = await service.fetch(request.clone())
    const text = await response.text()
    const isJson = response.headers.get('content-type') === 'application/json'
    return { status: response.status, body: isJson ? JSON.parse(text) : undefined }
  } finally {
    await service.close()
  }
}

/** The fields of refusals: of the interface, of its account changes, of OAuth, and of the registration of a phone. */
function refusalFields({ name }: Case, status: number): string[] {
  const own = name.startsWith('POST /v4/agent/account-changes') ? ['code', 'changed'] : []
  const oauth = name.includes('/v4/oidc/') ? ['error_description', 'error_uri'] : []
  const phone = name === 'POST /v3/pay/notifications/register' ? ['message'] : []
  return ['error', 'status', ...own, ...oauth, ...phone, ...(status === 501 ? ['code'] : [])]
}

/** What an answer shows that a mode does not know, and what it leaves out although the mode knows it. */
async function faultsOf(mode: Evidence, each: Case, isSame: boolean): Promise<string[]> {
  const { name, route } = each
  const { status, body } = await again(mode, each)
  const refused = await isRefused(mode, each)
  const said = (fields: readonly string[], verb: string) => fields.map((field) => `${name} ${status} ${verb} ${field}`)
  const faults = refused === (status === 501) ? [] : [`${name} ${status} ${refused ? 'takes' : 'refuses'} ${each.path}`]
  if (status >= 400) {
    const allowed = refusalFields(each, status)
    const fields = isObject(body) ? Object.keys(body) : []
    return [
      ...faults,
      ...said(
        fields.filter((field) => !allowed.includes(field)),
        'shows',
      ),
    ]
  }
  shown.add(`${mode} ${name}`)
  const { answers } = known(mode, name)
  const fields = pathsIn(route.result, body)
  const kept =
    isSame && each.status === status ? pathsIn(route.result, each.body).filter((field) => answers.has(field)) : []
  const token = isObject(body) ? body.id_token : undefined
  const claims = typeof token === 'string' ? Object.keys(claimsIn(token)) : []
  return [
    ...faults,
    ...said(
      fields.filter((field) => !answers.has(field)),
      'shows',
    ),
    ...said(
      kept.filter((field) => !fields.includes(field)),
      'hides',
    ),
    ...said(
      claims.filter((claim) => !standardClaims.includes(claim)),
      'claims',
    ),
  ]
}

const shown = new Set<string>()

describe.each(strictModes)('a service in the mode %s', (mode) => {
  it('refuses each call that holds something weaker, and shows nothing weaker', async () => {
    const faults: string[] = []
    for (const each of cases()) {
      faults.push(...(await faultsOf(mode, each, true)))
      if (!knows(mode, each.name) || !(await isRefused(mode, each))) continue
      faults.push(...(await faultsOf(mode, await strengthened(mode, each), false)))
    }
    expect([...new Set(faults)]).toEqual([])
    const silent = operations
      .filter(({ route }) => isGraded(route))
      .map(({ route, path }) => `${route.method} ${path}`)
      .filter((name) => knows(mode, name) && !shown.has(`${mode} ${name}`))
    // What it pays for is a field of our own.
    expect(silent).toEqual(mode === 'documented' ? [] : ['POST /v4/paywall'])
  }, 120_000)

  it('names nothing weaker in its discovery document', async () => {
    const service = createService({ sandbox: true, evidence: mode })
    const document = await (await service.fetch('/v4/oidc/.well-known/openid-configuration')).json()
    await service.close()
    const { answers } = known(mode, 'GET /v4/oidc/.well-known/openid-configuration')
    expect(Object.keys(document).filter((name) => !answers.has(name))).toEqual([])
    expect(document.claims_supported.filter((claim: string) => !standardClaims.includes(claim))).toEqual([])
    const scopes = ['openid', 'profile', 'email', 'offline_access']
    expect(document.scopes_supported.toSorted()).toEqual([...scopes, ...(mode === 'documented' ? [] : ['twin'])].sort())
    const endpoints = Object.entries(document).filter(([name]) => /_endpoint$|^jwks_uri$/.test(name))
    expect(endpoints.length).toBeGreaterThan(3)
    const weak = endpoints.filter(([, url]) => {
      const { pathname } = new URL(String(url))
      return !['GET', 'POST'].some((method) => knows(mode, `${method} ${pathname}`))
    })
    // OpenID Connect Discovery 1.0 requires this one.
    expect(weak.map(([name]) => name)).toEqual(mode === 'documented' ? ['authorization_endpoint'] : [])
  })

  it('describes nothing weaker in its OpenAPI document', async () => {
    const service = createService({ sandbox: true, evidence: mode })
    const { paths } = await (await service.fetch('/v4/openapi.json')).json()
    await service.close()
    const weak = operations
      .filter(({ route }) => isGraded(route))
      .flatMap(({ route, path }) => {
        const name = `${route.method} ${path}`
        const described = paths[path.replace(/:(\w+)/g, '{$1}')]?.[route.method.toLowerCase()]
        if (!described) return knows(mode, name) ? [`${name} is missing`] : []
        if (!knows(mode, name)) return [name]
        const { sends } = known(mode, name)
        const named = described.parameters.filter((parameter: { in: string }) => parameter.in !== 'path')
        const fields = named.map((parameter: { name: string }) => parameter.name)
        // A page sends its secret in the query, where the interface shows a body.
        const secret = JSON.stringify(described.security).includes('publicSecret') ? ['publicSecret'] : []
        return [...fields.filter((field: string) => !sends.has(field)), ...secret].map((field) => `${name} ${field}`)
      })
    expect(weak).toEqual([])
  })

  it.each([
    ['/twin/41.twin.localhost', 'public_secret'],
    ['/user/1', 'email'],
    ['/persona/41/verify', 'twin_id'],
  ])(
    'takes the field of GET %s only as the interface shows it, where callers can send a body: %s',
    async (path, field) => {
      const { url, close } = await nodeServer.start({ evidence: mode })
      for (const version of versionsOf(path)) {
        const address = `${url}/${version}${path}`
        const queried = await sendNode(`${address}?${field}=1`, {})
        expect([queried.status, queried.body.error]).toEqual([501, expect.stringContaining(`"${field}" in the query`)])
        const headers = { 'content-type': 'application/json' }
        expect((await sendNode(address, { headers, body: JSON.stringify({ [field]: '1' }) })).status).toBe(401)
        // As anywhere, a name that nothing reads is ignored.
        expect((await sendNode(`${address}?utm=1`, {})).status).toBe(401)
      }
      await close()
    },
  )
})

const versionsOf = (path: string): readonly string[] => routeOf('GET', `/v4${path}`)?.route.versions ?? []
