import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { routes } from '../../scripts/route-table.js'
import { loadRoutesOf } from '../../src/composition/feature.js'
import { features } from '../../src/features.js'
import type { ServiceContext } from '../../src/http/context.js'
import { WaitingRequests } from '../../src/http/fields/intake.js'
import { reply } from '../../src/http/reply.js'
import type { Route } from '../../src/http/route.js'
import { type RoutedFeature, RouteTable } from '../../src/http/routing/router.js'

describe('the features', () => {
  test('are all that are declared', async () => {
    const declared = readdirSync('src', { recursive: true, encoding: 'utf8' }).flatMap((path) => {
      if (!path.endsWith('.ts') || path.startsWith('composition')) return []
      const [, name] = /^export const (\w+Feature)\b/m.exec(readFileSync(join('src', path), 'utf8')) ?? []
      return name === undefined ? [] : [{ path, name }]
    })
    for (const { path, name } of declared)
      expect(features, path).toContain((await import(join('../../src', path)))[name])
    // And the one about the service itself.
    expect(features).toHaveLength(declared.length + 1)
  })

  test('hold every route of the table, in its order', async () => {
    const loaded = await Promise.all(features.map((feature) => feature.load?.() ?? {}))
    expect(loaded.flatMap(Object.values).flatMap(Object.keys)).toEqual(Object.keys(routes))
  })

  test('name the areas of their routes, and no other', async () => {
    for (const { areas = [], load } of features) {
      const starts = Object.values((await load?.()) ?? {})
        .flatMap(Object.values<Route>)
        .map(({ path }) => path.split('/')[1])
      expect([...areas].sort()).toEqual([...new Set(starts)].sort())
    }
  })
})

test('all routes are not_loaded if those of one feature do not load', async () => {
  const offline = { areas: ['dq'], load: () => Promise.reject(new TypeError('Failed to fetch')) }
  await expect(loadRoutesOf([feature('carts', []), offline])).rejects.toMatchObject({ code: 'not_loaded', status: 503 })
})

describe('a table', () => {
  test('loads the features of an area with its first call, once, also for calls at the same time', async () => {
    const loads: string[] = []
    const table = new RouteTable([feature('carts', loads), feature('carts', loads, '/carts/old'), feature('dq', loads)])
    expect(loads).toEqual([])
    const answers = await Promise.all([
      call(table, '/v4/carts'),
      call(table, '/v4/carts/old'),
      call(table, '/v4/carts'),
    ])
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204])
    await call(table, '/v4/carts')
    await call(table, '/v4/nowhere')
    expect(loads.toSorted()).toEqual(['/carts', '/carts/old'])
  })

  test('answers 503 if a feature does not load, logs why, and tries again', async () => {
    const offline = new TypeError('Failed to fetch dynamically imported module')
    const [carts] = [feature('carts', [])]
    let isOffline = true
    const table = new RouteTable([
      { areas: carts.areas, load: () => (isOffline ? Promise.reject(offline) : carts.load()) },
    ])
    const logged: unknown[] = []
    const refused = await call(table, '/v4/carts', logged)
    expect([refused.status, (await refused.json()).code]).toEqual([503, 'not_loaded'])
    expect(logged).toEqual([offline])
    isOffline = false
    expect((await call(table, '/v4/carts', logged)).status).toBe(204)
    expect(logged).toEqual([offline])
  })
})

/** A feature with one route. It notes each time that it loads. */
function feature(area: string, loads: string[], path: `/${string}` = `/${area}`): RoutedFeature {
  return {
    areas: [area],
    async load() {
      loads.push(path)
      const route: Route = {
        ...{ id: path, tag: area, summary: '', evidence: 'designed', method: 'GET', path, versions: ['v4'] },
        auth: ['none'],
        handle: async () => reply({ status: 204, body: null }),
      }
      return { routes: { [path]: route } }
    },
  }
}

const call = (table: RouteTable, path: string, logged: unknown[] = []): Promise<Response> =>
  table.respond(new Request(`http://127.0.0.1:4242${path}`), {
    storage: memoryStorage(),
    rules: { findCaller: async () => ({ principal: { kind: 'none' }, session: undefined }) },
    baseUrl: 'http://127.0.0.1:4242',
    options: { basePath: '', evidence: 'designed' },
    limits: { queue: 1 },
    intake: { waiting: new WaitingRequests(1) },
    log: { error: (_: string, cause: unknown) => logged.push(cause) },
  } as unknown as ServiceContext) // As little of a service as answering takes.
