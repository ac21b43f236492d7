import { isBuiltin } from 'node:module'
import { posix } from 'node:path'
import type { Import, Module } from './modules.js'

/** The kind of a module, which decides what it may import. */
type Place =
  | 'composition' // puts the parts together
  | 'base' // words that every part shares
  | 'http'
  | 'storage'
  | 'ledger'
  | 'caller' // finds who is calling, for the router
  | 'around' // the layers around a service, which see what passes the router
  | 'routes' // of a feature
  | 'page' // of a feature: JSX
  | 'texts' // what a feature says in the OpenAPI document
  | 'noun' // the rules of a feature
  | 'client' // runs in browsers
  | 'adapter'
  | 'sandbox'
  | 'other'

/** The groups in their order: each imports only from those before it and from itself. */
export const groups = [
  'base',
  'storage',
  'http',
  'jobs',
  'money',
  'identity',
  'consent',
  'payments',
  'market',
  'agents',
  'sandbox',
]
const composition = [
  'index',
  'core',
  'create-service',
  'slim',
  'parts',
  'rehearse',
  'options',
  'service',
  'composition/assembly-options',
  'composition/lifecycle',
  'composition/sandboxed',
  'composition/service',
  'composition/slim-service',
  'routes',
  'features',
  'collections',
  'timers',
  'composition/card-deliveries',
  'composition/clock-moves',
  'composition/deliveries',
  'composition/sign-in',
  'composition/dead-letter-events',
  'composition/webhook-deliveries',
  'composition/feature',
  'composition/meta-texts',
  'composition/client-operation',
  'composition/client-operations',
  'background',
  'composition/descriptions',
].map((name) => `src/${name}.ts`)
/** The default ports are the one place that reads the clock, draws random bytes and reaches the network. */
const ports = 'src/base/ports.ts'
/** The files of `http/` that the routes of a feature may import. */
const routeWords = [
  'context.ts',
  'limits.ts',
  'route.ts',
  'fields/graded.ts',
  'fields/schema.ts',
  'reply.ts',
  'csv/csv.ts',
  'pages/html.tsx',
].map((name) => `src/http/${name}`)
const pageWords = [
  'context.ts',
  'limits.ts',
  'pages/html.tsx',
  'pages/palette.ts',
  'pages/card-style.ts',
  'pages/form-flow.ts',
  'pages/form-page.tsx',
  'pages/parts.tsx',
  'reply.ts',
  'whole-list.ts',
].map((name) => `src/http/${name}`)
/** What the rules of a feature work with, and wire shapes and markup: they know no request. */
const nounWords = [
  'context.ts',
  'limits.ts',
  'around.ts',
  'change-tracking.ts',
  'fields/schema.ts',
  'fields/graded.ts',
  'fields/marks.ts',
  'fields/field.ts',
  'fields/card-data.ts',
  'pages/html.tsx',
  'pages/palette.ts',
  'pages/form-flow.ts',
  'csv/csv-records.ts',
].map((name) => `src/http/${name}`)
/** These work with the whole package, as the tests of users do. */
const testAdapters = ['adapters/vitest', 'adapters/playwright', 'adapters/testing']
const nodeAdapters = ['adapters/node', 'adapters/smtp', 'adapters/storage/file', 'adapters/storage/postgres']
const owners: Record<string, readonly string[]> = {
  'itty-router': ['src/http/'],
  jose: ['src/consent/oidc/', 'src/identity/tokens/'],
  '@modelcontextprotocol/': ['src/agents/mcp/', 'src/sandbox/scripted-agent/'],
  minisearch: ['src/sandbox/tools/'],
}
/** Names what is used of an SDK. Others load it on first use. */
const sdk = 'src/agents/mcp/sdk.ts'
/** What the search of the documentation reads, alone. */
const searched: Record<string, readonly string[]> = {
  'src/sandbox/tools/docs-search.ts': ['docs/guides?files', 'src/http/error-pages/error-texts.ts'],
}
const outside = ['idb', 'lowdb', 'msw', '@whatwg-node/server']

/** What a group declares of its errors, for the one list in `base/` and that of their pages. It is data, and imports nothing. */
const declarations = /^src\/.+\/problem(s|-pages)\.ts$/
const lists = ['src/base/problem.ts', 'src/http/error-pages/error-texts.ts']

/** What breaks the rules of who may import whom: `file:line: rule n: what is wrong`. */
export function violations(modules: readonly Module[]): string[] {
  const all = new Map(modules.map((module) => [module.path, module]))
  return [
    ...modules.flatMap((module) =>
      module.imports.flatMap((imported) =>
        [...importFaults(module.path, imported), ...clientFaults(module.path, imported, all)].map(
          (fault) => `${module.path}:${imported.line}: ${fault}`,
        ),
      ),
    ),
    ...modules.flatMap(adapterPackages),
    ...modules.flatMap(globalFaults),
    ...circles(all),
    ...folderCircles(modules),
  ]
}

function importFaults(from: string, imported: Import): string[] {
  const { path } = imported
  if (path !== undefined) return [pathFault(from, path, imported)].filter((fault) => fault !== undefined)
  if (imported.package !== undefined) return packageFaults(from, imported.package, imported)
  return ['rule 3: an import() names its module by a string']
}

function pathFault(from: string, path: string, imported: Import): string | undefined {
  const place = placeOf(from)
  const to = placeOf(path)
  if (path === sdk && !imported.dynamic && !imported.typeOnly) return `rule 2: ${path} is loaded on first use`
  if (/^(sandbox|test)\//.test(path) && place !== 'sandbox') return `rule 5: nothing imports ${top(path)}/`
  if (/^adapters\//.test(path) && from.startsWith('src/')) return 'rule 3: src/ never imports adapters/'
  if (searched[from]?.includes(path)) return undefined
  if (declarations.test(from) && !imported.typeOnly)
    return `rule 0: declarations of errors are data, and may not import ${path}`
  if (declarations.test(path) && (lists.includes(from) || folderOf(from) === folderOf(path))) return undefined
  if (place === 'adapter') return adapterFault(from, path, imported.typeOnly)
  if (place === 'sandbox' || place === 'composition') return undefined
  if (to === 'composition') return `rule 1: only the modules that compose the service import ${path}`
  const [group, other] = [groupOf(from), groupOf(path)]
  if (from.startsWith('src/') && groups.indexOf(other) > groups.indexOf(group))
    return `rule 0: ${group}/ comes before ${other}/ and may not import ${path}`
  if (place === 'client' || path.endsWith('?script')) return undefined
  if (to === 'base' || folderOf(from) === folderOf(path)) return undefined
  const allowed = allowedPlaces(place)
  if (allowed.includes(to) || wordsOf(place, imported.typeOnly).includes(path)) return undefined
  return `rule ${place === 'routes' ? 2 : 1}: ${nameOf[place]} may not import ${path}`
}

const nameOf: Record<Place, string> = {
  composition: 'what composes the service',
  base: 'base/',
  http: 'http/',
  storage: 'storage/',
  ledger: 'ledger/',
  caller: 'callers/',
  around: 'what is around the service',
  routes: 'routes',
  page: 'a page',
  texts: 'descriptions',
  noun: 'the rules of a feature',
  client: 'browser code',
  adapter: 'an adapter',
  sandbox: 'the sandbox',
  other: 'this',
}

function allowedPlaces(place: Place): Place[] {
  if (place === 'http') return ['storage']
  if (place === 'ledger') return ['storage']
  if (place === 'caller' || place === 'around') return ['storage', 'http', 'noun', 'around']
  if (place === 'noun' || place === 'page') return ['storage', 'ledger', 'around', 'noun']
  return []
}

function wordsOf(place: Place, typeOnly: boolean): string[] {
  if (place === 'routes') return typeOnly ? [...routeWords, 'src/storage/storage.ts'] : routeWords
  if (place === 'page') return pageWords
  if (place === 'texts') return ['src/http/openapi/texts.ts']
  return place === 'noun' ? nounWords : []
}

/** The client is typed by the route table, and knows it as a table that the build writes out. */
const clientTable = ['src/composition/client-operations.ts', 'src/routes.ts']

function adapterFault(from: string, path: string, typeOnly: boolean): string | undefined {
  if (adapterOf(from) === 'adapters/client' && path.startsWith('src/') && (typeOnly || clientTable.includes(path)))
    return undefined
  if (path === 'src/core.ts' || path.startsWith('src/storage/')) return undefined
  if (adapterOf(path) === adapterOf(from)) return undefined
  if (adapterOf(path) === 'adapters/testing' && testAdapters.includes(adapterOf(from))) return undefined
  return path.startsWith('adapters/')
    ? 'rule 4: adapters never import each other'
    : `rule 4: of src/, an adapter imports core.ts and storage/, not ${path}`
}

function packageFaults(from: string, name: string, { dynamic, typeOnly }: Import): string[] {
  const builtin = isBuiltin(name)
  if (name === 'farthing' && placeOf(from) === 'adapter' && !testAdapters.includes(adapterOf(from)))
    return ['rule 4: only the adapters for tests import the package itself']
  if (from.startsWith('src/') && (builtin || outside.includes(name))) return [`rule 3: src/ never imports ${name}`]
  if (placeOf(from) === 'adapter' && builtin && !nodeAdapters.includes(adapterOf(from)))
    return [`rule 4: this adapter runs in browsers too; it cannot import ${name}`]
  const [prefix, homes] = Object.entries(owners).find(([owner]) => name === owner || isWithin(name, owner)) ?? ['', []]
  if (prefix === '' || !from.startsWith('src/')) return []
  if (!homes.some((home) => from.startsWith(home))) return [`rule 2: only ${homes.join(' and ')} import ${name}`]
  const isAtOnce = !dynamic && !typeOnly && from !== sdk
  return prefix === '@modelcontextprotocol/' && isAtOnce ? [`rule 2: ${name} is loaded on first use`] : []
}

const isWithin = (name: string, owner: string): boolean => owner.endsWith('/') && name.startsWith(owner)

/** Browser code is bundled alone: what it imports must be no weight, and lead to nothing that is. */
function clientFaults(from: string, { path, typeOnly }: Import, all: ReadonlyMap<string, Module>): string[] {
  const toClient = path !== undefined && placeOf(path) === 'client'
  if (placeOf(from) !== 'client') {
    const asText = path?.endsWith('?script') ?? false
    return toClient && !asText && !typeOnly ? ['clients: src/ imports browser code as a ?script, or its types'] : []
  }
  if (path === undefined || toClient || typeOnly || !path.startsWith('src/')) return []
  const heavy = closure(path, all).find((module) => !isPure(module))
  return heavy ? [`clients: browser code may not import ${path}, which leads to ${heavy.path}`] : []
}

const isPure = ({ path, imports }: Module): boolean =>
  (['base', 'ledger', 'noun'].includes(placeOf(path)) || declarations.test(path)) &&
  imports.every((imported) => imported.typeOnly || imported.path !== undefined)

/** A module with all it imports, types aside. */
function closure(path: string, all: ReadonlyMap<string, Module>): Module[] {
  const paths = new Set([path])
  for (const reached of paths) for (const next of valueImports(all.get(reached))) paths.add(next)
  return [...paths].map((reached) => all.get(reached) ?? { path: reached, imports: [], globals: [] })
}

/** The modules that load together with these: what they import, but by `import()`. */
export function loadedWith(paths: readonly string[], modules: readonly Module[]): string[] {
  const all = new Map(modules.map((module) => [module.path, module]))
  const loaded = new Set(paths)
  for (const path of loaded)
    for (const { path: next, typeOnly, dynamic } of all.get(path)?.imports ?? [])
      if (next !== undefined && !typeOnly && !dynamic) loaded.add(next)
  return [...loaded]
}

const valueImports = (module: Module | undefined): string[] =>
  (module?.imports ?? []).flatMap(({ path, typeOnly }) => (path === undefined || typeOnly ? [] : [path]))

/** One package for an adapter with all its files, whichever of them is read. */
function adapterPackages(module: Module, _: number, modules: readonly Module[]): string[] {
  if (placeOf(module.path) !== 'adapter') return []
  const packagesOf = ({ imports }: Module) =>
    imports.flatMap(({ package: name }) => (name === undefined || name === 'farthing' || isBuiltin(name) ? [] : [name]))
  const unit = modules.filter(({ path }) => placeOf(path) === 'adapter' && adapterOf(path) === adapterOf(module.path))
  const [own, ...others] = new Set(unit.flatMap(packagesOf))
  return module.imports
    .filter(({ package: name }) => name !== undefined && others.includes(name))
    .map(({ line, package: name }) => `${module.path}:${line}: rule 4: ${name} is a second package beside ${own}`)
}

function globalFaults({ path, globals }: Module): string[] {
  if (!path.startsWith('src/') || placeOf(path) === 'client') return []
  return globals.flatMap(({ line, name }) => {
    if (path === ports && name !== 'Math.random') return []
    const of = name === 'fetch' ? 'network' : name === 'Math.random' || name === 'crypto' ? 'randomness' : 'clock'
    return [`${path}:${line}: rule 3: src/ has no ${of} of its own (${name}); use the port`]
  })
}

/** Each circle once, from its first module by name. */
function circles(all: ReadonlyMap<string, Module>): string[] {
  const found = new Set<string>()
  const done = new Set<string>()
  const visit = (path: string, way: readonly string[]): void => {
    const start = way.indexOf(path)
    if (start >= 0) found.add(turned(way.slice(start)).join(' → '))
    if (start >= 0 || done.has(path)) return
    for (const next of valueImports(all.get(path))) visit(next, [...way, path])
    done.add(path)
  }
  for (const path of all.keys()) visit(path, [])
  return [...found].map((circle) => `${circle.split(' → ')[0]}:1: rule 1: imports run in a circle: ${circle}`)
}

/** The folders, of features and inside of them, that lead back to themselves, types included: between groups their order forbids it. */
function folderCircles(modules: readonly Module[]): string[] {
  const first = new Map<string, Map<string, string>>()
  for (const { path: from, imports } of modules) {
    if (!from.startsWith('src/') || placeOf(from) === 'composition') continue
    const steps = first.get(posix.dirname(from)) ?? new Map<string, string>()
    first.set(posix.dirname(from), steps)
    for (const { path, line } of imports) {
      if (path === undefined || groupOf(path) !== groupOf(from) || posix.dirname(path) === posix.dirname(from)) continue
      if (!steps.has(posix.dirname(path)))
        steps.set(posix.dirname(path), `${from}:${line}: rule 0: folders import in a circle`)
    }
  }
  return [...first].flatMap(([folder, steps]) =>
    [...steps].flatMap(([next, fault]) => {
      const way = wayBetween(next, folder, first)
      return way ? [`${fault}: ${[folder, ...way].join(' → ')}`] : []
    }),
  )
}

/** The shortest way from one folder to another, both included. */
function wayBetween(from: string, to: string, steps: ReadonlyMap<string, ReadonlyMap<string, unknown>>) {
  const ways = new Map([[from, [from]]])
  for (const [folder, way] of ways) {
    if (folder === to) return way
    for (const next of steps.get(folder)?.keys() ?? []) if (!ways.has(next)) ways.set(next, [...way, next])
  }
  return undefined
}

/** A circle told from its first module by name, and back to it. */
function turned(circle: readonly string[]): string[] {
  const first = circle.indexOf([...circle].sort()[0] as string)
  return [...circle.slice(first), ...circle.slice(0, first), circle[first] as string]
}

function placeOf(path: string): Place {
  const file = posix.basename(path).replace(/\?script$/, '')
  if (/\.client\.(js|tsx?)$/.test(file)) return 'client'
  if (composition.includes(path) || path.startsWith('src/migrations/')) return 'composition'
  if (path.startsWith('adapters/')) return 'adapter'
  if (path.startsWith('sandbox/')) return 'sandbox'
  if (!path.startsWith('src/')) return 'other'
  const folder = folderOf(path)
  if (folder === 'src/base') return 'base'
  if (folder === 'src/http') return 'http'
  if (folder === 'src/storage') return 'storage'
  if (folder === 'src/money/ledger') return 'ledger'
  if (folder === 'src/consent/callers') return 'caller'
  if (folder === 'src/sandbox/journal' || folder === 'src/sandbox/onion') return 'around'
  if (file === 'routes.ts') return 'routes'
  if (file === 'descriptions.ts') return 'texts'
  return file.endsWith('.tsx') ? 'page' : 'noun'
}

const top = (path: string): string => path.slice(0, path.indexOf('/'))
const groupOf = (path: string): string => path.split('/')[1] ?? ''
/** The feature: `src/payments/transfers` for all that lies in it; `src/http` for a group that has no features, `src` for its own modules. */
const folderOf = (path: string): string =>
  path
    .split('/')
    .slice(0, -1)
    .slice(0, /^src\/(base|http|storage)\//.test(path) ? 2 : 3)
    .join('/')
/** `adapters/storage/file` for `adapters/storage/file.ts` and all of `adapters/storage/file/`. */
const adapterOf = (path: string): string =>
  path
    .replace(/\.ts$/, '')
    .split('/')
    .slice(0, path.startsWith('adapters/storage/') ? 3 : 2)
    .join('/')
