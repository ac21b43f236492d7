import { readdir, readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { routeList, routes } from '../../../scripts/route-table.js'
import { problemCodes } from '../../../src/base/problem.js'
import { VERSION } from '../../../src/base/version.js'
import { features } from '../../../src/features.js'
import type { ServiceContext } from '../../../src/http/context.js'
import { WaitingRequests } from '../../../src/http/fields/intake.js'
import { reply } from '../../../src/http/reply.js'
import { evidenceOf, type Route } from '../../../src/http/route.js'
import { errorsOf } from '../../../src/http/routing/errors.js'
import { RouteTable } from '../../../src/http/routing/router.js'
import { loadRouteList } from '../../../src/routes.js'
import { routeOf } from '../../support/api.js'
import { documented, onlyNamed } from '../../support/contract/documented.js'
import { operations } from '../../support/contract/operations.js'
import { samplesOf, wrongValuesOf } from '../../support/contract/samples.js'

const source = new URL('../../../src/', import.meta.url)
/** The Node adapter judges what only it sees of a request. */
const adapter = new URL('../../../adapters/node/target.ts', import.meta.url)

/** Codes that are answered where no route was found. */
const frameCodes = ['no_such_path', 'method_not_allowed', 'header_malformed', 'target_malformed', 'host_refused']

describe('the route table', () => {
  it('is one list each time, by which a search keeps its index', async () => {
    expect(await loadRouteList()).toBe(await loadRouteList())
  })

  it('names every operation once', () => {
    expect(duplicates(routeList.map(({ id }) => id))).toEqual([])
  })

  it('serves every method and path once', () => {
    const anyName = (path: string) => path.replace(/:\w+/g, ':')
    expect(duplicates(operations.map(({ route, path }) => `${route.method} ${anyName(path)}`))).toEqual([])
  })

  it('contains the routes of every feature, each id once', async () => {
    const paths = (await readdir(source, { recursive: true })).filter((path) => /.[/\\]routes\.ts$/.test(path))
    expect(paths.length).toBeGreaterThan(20)
    const features = await Promise.all(paths.map((path) => import(new URL(path, source).href)))
    const declared = features
      .flatMap((exports) => Object.values<Record<string, Route>>(exports))
      .flatMap(Object.entries)
    expect(duplicates(declared.map(([id]) => id))).toEqual([])
    for (const [id, entry] of declared) expect(routes).toHaveProperty(id, entry)
    for (const [id, entry] of Object.entries(routes)) expect(entry.id).toBe(id)
    expect(routeList.length).toBe(declared.length + metaOperations)
  })

  it('holds operations of which every property is known', () => {
    for (const entry of routeList)
      expect(
        Object.keys(entry).filter((key) => !(key in properties)),
        entry.id,
      ).toEqual([])
  })

  it.each(operations.map((operation) => [`${operation.route.method} ${operation.path}`, operation] as const))(
    '%s is reached, with and without a trailing slash',
    async (_, { route, absent }) => {
      for (const asked of [absent, `${absent}/`]) {
        expect(await reached(route.method, asked)).toBe(route.id)
        expect(routeOf(route.method, asked)?.route.id).toBe(route.id)
      }
      if (route.method === 'GET') expect(await reached('HEAD', absent)).toBe(route.id)
    },
  )

  it.each(routeList.map((route) => [route.id, route] as const))('%s has a shape for its success', (_, route) => {
    const isStream = route.produces?.some((type) => type !== 'application/json')
    const { status = 200 } = route
    expect(route.result !== undefined || isStream || status === 204).toBe(true)
  })

  it.each(routeList.flatMap((route) => (route.body ? [[route.id, route.body] as const] : [])))(
    '%s refuses every field of its body in every wrong type',
    (_, body) => {
      const right = samplesOf(body)
      expect(body.safeParse(right).success).toBe(true)
      for (const [field, schema] of Object.entries(body.shape))
        for (const wrong of wrongValuesOf(schema))
          expect(body.safeParse({ ...right, [field]: wrong }).success, `${field}: ${JSON.stringify(wrong)}`).toBe(false)
    },
  )

  it('has the version of the package', async () => {
    const { version } = JSON.parse(await readFile(new URL('../package.json', source), 'utf8')) as { version: string }
    expect(VERSION).toBe(version)
  })
})

describe('the error codes', () => {
  it('declared by the routes all exist', () => {
    for (const route of routeList) for (const code of errorsOf(route)) expect(problemCodes).toContain(code)
  })

  it('are all declared by a route or belong to the frame', () => {
    const declared = new Set<string>([...routeList.flatMap(errorsOf), ...frameCodes])
    expect(problemCodes.filter((code) => !declared.has(code))).toEqual([])
  })

  it('are all used in the sources', async () => {
    const files = (await readdir(source, { recursive: true })).filter((name) => /\.tsx?$/.test(name))
    const texts = await Promise.all(
      files
        .filter((name) => !/^problem\.ts$|routes\.ts$/.test(name))
        .map((name) => readFile(new URL(name, source), 'utf8')),
    )
    const features = await Promise.all(
      files.filter((name) => name.endsWith('routes.ts')).map((name) => readFile(new URL(name, source), 'utf8')),
    )
    const given =
      texts.join('\n') + (await readFile(adapter, 'utf8')) + features.join('\n').replace(/errors: \[[^\]]*\]/g, '')
    expect(problemCodes.filter((code) => !given.includes(`'${code}'`))).toEqual([])
  })
})

describe.each([
  ['documented', documented],
  ['named', onlyNamed],
] as const)('the operations that are graded %s', (grade, listed) => {
  it('are those that the interface shows or names', () => {
    const shown = (path: string) => path.replace(/\/$/, '').replace(/\{\w+\}|:\w+/g, ':')
    const graded = operations.filter(({ evidence }) => evidence === grade)
    expect(graded.map(({ route, path }) => `${route.method} ${shown(path)}`).sort()).toEqual(
      listed.map(([method, path]) => `${method} ${shown(path)}`).sort(),
    )
  })
})

describe('A list that the interface or an existing client shows', () => {
  const isPaged = ({ result }: Route) =>
    result !== undefined && 'shape' in result.def && 'next' in Object(result.def.shape)
  const isShown = (route: Route) => (route.versions ?? []).some((version) => evidenceOf(route, version) !== 'designed')

  it('is whole unless the caller asks for a page, and no other list is', () => {
    const shown = routeList.filter((route) => isPaged(route) && isShown(route)).map(({ id }) => id)
    expect(shown).not.toEqual([])
    expect(routeList.filter(({ wholeList }) => wholeList !== undefined).map(({ id }) => id)).toEqual(shown)
  })
})

function duplicates(names: readonly string[]): string[] {
  return names.filter((name, at) => names.indexOf(name) !== at)
}

/** Every property that an operation may have: a spread of several is not checked for others by the compiler. */
const properties: Record<keyof Required<Route>, true> = {
  summary: true,
  evidence: true,
  method: true,
  path: true,
  versions: true,
  auth: true,
  params: true,
  query: true,
  body: true,
  queryInBody: true,
  weakParams: true,
  bodyOptional: true,
  takesBytes: true,
  isJsonRpc: true,
  adds: true,
  bodyLimit: true,
  text: true,
  status: true,
  result: true,
  waits: true,
  produces: true,
  errors: true,
  refused: true,
  relays: true,
  redirects: true,
  failure: true,
  deviceToken: true,
  takesBareCookie: true,
  repeatsErrorAsMessage: true,
  refusesCardData: true,
  wholeList: true,
  idempotent: true,
  isResource: true,
  agentScope: true,
  shareable: true,
  scope: true,
  isOpen: true,
  read: true,
  write: true,
  handle: true,
  isStillValid: true,
  id: true,
  tag: true,
  sell: true,
  presented: true,
}

/** What describes the service itself: of no feature. */
const metaOperations = 3

/** The id of the route that a request comes to: a table whose every route answers with its own id. */
async function reached(method: string, path: string): Promise<string | null> {
  const response = await named.respond(new Request(`http://127.0.0.1:4242${path}`, { method }), nothingButStorage)
  return response.headers.get('x-reached')
}

const answeringItsId = ({ id, tag, method, path, versions, evidence, summary }: Route): Route => ({
  ...{ id, tag, method, path, evidence, summary, auth: ['none'] as const, ...(versions && { versions }) },
  handle: async () => reply({ status: 204, body: null, headers: { 'x-reached': id } }),
})

const named = new RouteTable(
  features.map(({ areas = [], load }) => ({
    areas,
    load: async () => ({
      routes: Object.fromEntries(
        Object.values((await load?.()) ?? {})
          .flatMap(Object.entries<Route>)
          .map(([id, route]) => [id, answeringItsId(route)]),
      ),
    }),
  })),
)

/** As little of a service as answering takes. */
const nothingButStorage = {
  storage: memoryStorage(),
  rules: { findCaller: async () => ({ principal: { kind: 'none' }, session: undefined }) },
  baseUrl: 'http://127.0.0.1:4242',
  options: { basePath: '', evidence: 'designed' },
  limits: { bodyBytes: 0, snapshotBytes: 0, nonceSeconds: 0, queue: 1 },
  intake: { waiting: new WaitingRequests(1) },
} as unknown as ServiceContext
