import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { loadedWith, violations } from './support/rules/import-rules.js'
import { readModules } from './support/rules/modules.js'

const root = fileURLToPath(new URL('..', import.meta.url))

function sources(): Map<string, string> {
  const paths = ['src', 'adapters', 'sandbox'].flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
      .filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.d.ts')),
  )
  return new Map(paths.map((path) => [path, readFileSync(`${root}${path}`, 'utf8')]))
}

const texts = sources()
const modules = readModules(texts)
const faults = (texts: Record<string, string>) => violations(readModules(new Map(Object.entries(texts))))

test('every import follows the rules of the architecture', () => {
  expect(texts.size).toBeGreaterThan(50)
  expect(violations(modules)).toEqual([])
})

test('every relative import finds its module', () => {
  const missing = modules.flatMap(({ path: from, imports }) =>
    imports.flatMap(({ path, line }) =>
      path === undefined || texts.has(path.replace(/\?script$/, '')) ? [] : [`${from}:${line}: ${path}`],
    ),
  )
  // The compiler finds JSON, and the build the folders of files.
  expect(missing.filter((line) => !/\.json$|\?files$/.test(line))).toEqual([])
})

test('a payment loads no other feature, but for its rows and what payments call', () => {
  const entries = ['src/index.ts', 'adapters/msw.ts']
  const features = ['payments/payments', 'identity/tokens', 'identity/users', 'consent/client-credentials']
  const routes = features.map((feature) => `src/${feature}/routes.ts`)
  // Declarations of errors are data: every service has all of them.
  const isDeclaration = (path: string) => path.endsWith('/problems.ts')
  const loaded = loadedWith([...entries, ...routes], modules).filter((path) => !isDeclaration(path))
  const isRare = (path: string) =>
    /\.tsx$|\?script$|^src\/(agents\/mcp\/(?!(part|feature)\.ts$)|http\/csv\/|http\/openapi\/|market\/embeds\/(?!feature\.ts$))/.test(
      path,
    ) ||
    /^src\/(agents|market\/billing|market\/purchases)\/(?!.*(-row|\bpart|\bfeature)\.ts$)/.test(path) ||
    (/.\/.*\/routes\.ts$/.test(path) && !routes.includes(path))
  expect(loaded.filter(isRare)).toEqual([])
  expect(loaded.length).toBeGreaterThan(100)
  // A feature's list of what it has is a few lines.
  expect(loaded.filter((path) => !path.endsWith('/feature.ts')).length).toBeLessThan(270)
  expect(modules.length).toBeGreaterThan(2 * loaded.length)
})

/** What every service has: the rows of its settings, its start, and the check of its options. */
const OF_EVERY_SERVICE = [
  'src/sandbox/controls/bootstrap.ts',
  'src/sandbox/controls/seed/seed-schema.ts',
  'src/sandbox/faults/fault-shape.ts',
  'src/sandbox/onion/access.ts',
  'src/sandbox/onion/context.ts',
  'src/sandbox/onion/principal-name.ts',
  'src/sandbox/settings/settings.ts',
  'src/sandbox/settings/take-key.ts',
]

test('a service that is no sandbox loads no layer of one', () => {
  const loaded = loadedWith(['src/service.ts', 'src/http/routing/perform.ts'], modules)
  const isDeclaration = (path: string) => /\/(feature|problems)\.ts$/.test(path)
  const ofSandbox = loaded.filter(
    (path) => path.startsWith('src/sandbox/') && !isDeclaration(path) && !OF_EVERY_SERVICE.includes(path),
  )
  expect(loaded.length).toBeGreaterThan(100)
  expect(ofSandbox).toEqual([])
})

test('what makes a sandbox loads its layers', () => {
  const loaded = loadedWith(['src/composition/sandboxed.ts'], modules)
  for (const path of ['faults/faults.ts', 'journal/journal.ts', 'onion/around-requests.ts', 'onion/guard.ts'])
    expect(loaded).toContain(`src/sandbox/${path}`)
})

describe('the reader of imports reports', () => {
  const cases: [rule: string, texts: Record<string, string>, fault: string][] = [
    [
      'rule 0: a group that imports a later one',
      {
        'src/money/twins/twin.ts': "import type { A } from '../../market/carts/cart.js'",
        'src/market/carts/cart.ts': '',
      },
      'src/money/twins/twin.ts:1: rule 0: money/ comes before market/ and may not import src/market/carts/cart.ts',
    ],
    [
      'rule 0: folders that import each other',
      {
        'src/money/twins/twin.ts': "import '../ledger/audit.js'",
        'src/money/twins/name.ts': '',
        'src/money/ledger/audit.ts': "import type { A } from '../twins/name.js'",
      },
      'src/money/ledger/audit.ts:1: rule 0: folders import in a circle: src/money/ledger → src/money/twins → src/money/ledger',
    ],
    [
      'rule 0: declarations of errors that import a rule',
      {
        'src/money/problems.ts': "import { a } from './twins/twin.js'",
        'src/money/twins/twin.ts': '',
      },
      'src/money/problems.ts:1: rule 0: declarations of errors are data, and may not import src/money/twins/twin.ts',
    ],
    [
      'rule 0: a rule that reads the declarations of a later group',
      { 'src/money/twins/twin.ts': "import { a } from '../../market/problems.js'", 'src/market/problems.ts': '' },
      'src/money/twins/twin.ts:1: rule 0: money/ comes before market/ and may not import src/market/problems.ts',
    ],
    [
      'rule 1: a rule that imports request handling',
      { 'src/money/twins/twin.ts': "\nimport { route } from '../../http/route.js'", 'src/http/route.ts': '' },
      'src/money/twins/twin.ts:2: rule 1: the rules of a feature may not import src/http/route.ts',
    ],
    [
      'rule 1: a rule that imports routes',
      {
        'src/money/twins/twin.ts': "import { a } from '../cards/routes.js'",
        'src/money/cards/routes.ts': '',
      },
      'src/money/twins/twin.ts:1: rule 1: the rules of a feature may not import src/money/cards/routes.ts',
    ],
    [
      'rule 1: a part that imports the whole',
      { 'src/http/router.ts': "import { createService } from '../service.js'", 'src/service.ts': '' },
      'src/http/router.ts:1: rule 1: only the modules that compose the service import src/service.ts',
    ],
    [
      'rule 1: storage that imports a feature',
      { 'src/storage/key.ts': "import { a } from '../money/twins/twin.js'", 'src/money/twins/twin.ts': '' },
      'src/storage/key.ts:1: rule 0: storage/ comes before money/ and may not import src/money/twins/twin.ts',
    ],
    [
      'rule 1: http that imports a feature',
      { 'src/http/router.ts': "import { a } from '../money/twins/twin.js'", 'src/money/twins/twin.ts': '' },
      'src/http/router.ts:1: rule 0: http/ comes before money/ and may not import src/money/twins/twin.ts',
    ],
    [
      'rule 1: a circle of imports',
      {
        'src/identity/users/user.ts': "import '../../money/twins/twin.js'",
        'src/money/twins/twin.ts': "export * from '../../identity/tokens/token.js'",
        'src/identity/tokens/token.ts': "const a = await import('../users/user.js')",
      },
      'src/identity/tokens/token.ts:1: rule 1: imports run in a circle: src/identity/tokens/token.ts → src/identity/users/user.ts → src/money/twins/twin.ts → src/identity/tokens/token.ts',
    ],
    [
      'rule 2: routes that use another feature',
      {
        'src/money/twins/routes.ts': "import { a } from '../cards/card.js'",
        'src/money/cards/card.ts': '',
      },
      'src/money/twins/routes.ts:1: rule 2: routes may not import src/money/cards/card.ts',
    ],
    [
      'rule 2: routes that use the router',
      { 'src/money/twins/routes.ts': "import { a } from '../../http/router.js'", 'src/http/router.ts': '' },
      'src/money/twins/routes.ts:1: rule 2: routes may not import src/http/router.ts',
    ],
    [
      'rule 2: itty-router outside http/',
      { 'src/money/twins/routes.ts': "import { IttyRouter } from 'itty-router'" },
      'src/money/twins/routes.ts:1: rule 2: only src/http/ import itty-router',
    ],
    [
      'rule 2: jose outside oidc/ and tokens/',
      { 'src/identity/users/user.ts': "import type { JWK } from 'jose'" },
      'src/identity/users/user.ts:1: rule 2: only src/consent/oidc/ and src/identity/tokens/ import jose',
    ],
    [
      'rule 2: an MCP SDK that is loaded at once',
      { 'src/agents/mcp/server.ts': "import { McpServer } from '@modelcontextprotocol/server'" },
      'src/agents/mcp/server.ts:1: rule 2: @modelcontextprotocol/server is loaded on first use',
    ],
    [
      'rule 2: what names the parts of an MCP SDK, loaded at once',
      { 'src/agents/mcp/offer.ts': "import { Server } from './sdk.js'", 'src/agents/mcp/sdk.ts': '' },
      'src/agents/mcp/offer.ts:1: rule 2: src/agents/mcp/sdk.ts is loaded on first use',
    ],
    [
      'rule 3: an adapter in src/',
      { 'src/service.ts': "import '../adapters/node.js'", 'adapters/node.ts': '' },
      'src/service.ts:1: rule 3: src/ never imports adapters/',
    ],
    [
      'rule 3: a module of Node',
      { 'src/base/hash.ts': "import { createHash } from 'node:crypto'" },
      'src/base/hash.ts:1: rule 3: src/ never imports node:crypto',
    ],
    [
      'rule 3: a module of Node by its bare name',
      { 'src/base/hash.ts': "const fs = require('fs')" },
      'src/base/hash.ts:1: rule 3: src/ never imports fs',
    ],
    [
      'rule 3: the package of an adapter',
      { 'src/service.ts': "import { Low } from 'lowdb'" },
      'src/service.ts:1: rule 3: src/ never imports lowdb',
    ],
    [
      'rule 3: a computed import',
      { 'src/service.ts': 'await import(name)' },
      'src/service.ts:1: rule 3: an import() names its module by a string',
    ],
    [
      'rule 4: an adapter that imports another',
      { 'adapters/node.ts': "import './storage/memory.js'", 'adapters/storage/memory.ts': '' },
      'adapters/node.ts:1: rule 4: adapters never import each other',
    ],
    [
      'rule 4: an adapter that reaches into src/',
      { 'adapters/node.ts': "import '../src/http/router.js'", 'src/http/router.ts': '' },
      'adapters/node.ts:1: rule 4: of src/, an adapter imports core.ts and storage/, not src/http/router.ts',
    ],
    [
      'rule 4: an adapter with two packages',
      { 'adapters/storage/file.ts': "import 'lowdb'", 'adapters/storage/file/lock.ts': "import 'proper-lockfile'" },
      'adapters/storage/file/lock.ts:1: rule 4: proper-lockfile is a second package beside lowdb',
    ],
    [
      'rule 4: the package itself in an adapter that is no adapter for tests',
      { 'adapters/vitest.ts': "import 'farthing'", 'adapters/msw.ts': "import 'farthing/client'" },
      'adapters/msw.ts:1: rule 4: only the adapters for tests import the package itself',
    ],
    [
      'rule 4: Node in an adapter for browsers',
      { 'adapters/storage/memory.ts': "import 'node:fs'" },
      'adapters/storage/memory.ts:1: rule 4: this adapter runs in browsers too; it cannot import node:fs',
    ],
    [
      'rule 5: the sandbox in the service',
      { 'src/service.ts': "import '../sandbox/config.js'", 'sandbox/config.ts': '' },
      'src/service.ts:1: rule 5: nothing imports sandbox/',
    ],
    [
      'rule 5: a test in an adapter',
      { 'adapters/node.ts': "import '../test/runtimes.js'", 'test/runtimes.ts': '' },
      'adapters/node.ts:1: rule 5: nothing imports test/',
    ],
    [
      'clients: browser code that imports service code',
      {
        'src/market/embeds/embed.client.ts': "import { price } from './price.js'",
        'src/market/embeds/price.ts': "import { z } from 'zod'",
      },
      'src/market/embeds/embed.client.ts:1: clients: browser code may not import src/market/embeds/price.ts, which leads to src/market/embeds/price.ts',
    ],
    [
      'clients: a service that runs browser code',
      {
        'src/market/embeds/offer.ts': "import { a } from './embed.client.js'",
        'src/market/embeds/embed.client.ts': '',
      },
      'src/market/embeds/offer.ts:1: clients: src/ imports browser code as a ?script, or its types',
    ],
  ]
  test.each(cases)('%s', (_, texts, fault) => expect(faults(texts)).toContain(fault))
})

describe('the reader of globals', () => {
  const uses = (text: string) =>
    readModules(new Map([['src/a.ts', text]])).flatMap(({ globals }) => globals.map(({ name }) => name))

  test.each([
    ['Date.now()', 'Date'],
    ['new Date()', 'Date'],
    ['new Date', 'Date'],
    ['Date()', 'Date'],
    ['const { now } = Date', 'Date'],
    ['globalThis.Date.now()', 'Date'],
    ['Math.random()', 'Math.random'],
    ["Math['random']()", 'Math.random'],
    ['fetch("https://example.test")', 'fetch'],
    ['globalThis.fetch', 'fetch'],
    ['export const port = { fetch }', 'fetch'],
    ['performance.now()', 'performance'],
    ['crypto.randomUUID()', 'crypto'],
  ])('reports %s', (text, name) => expect(uses(text)).toEqual([name]))

  test.each([
    'new Date(0)',
    'Date.parse("2001-01-01")',
    'Date.UTC(2001, 0)',
    'if (a instanceof Date) a.getTime()',
    'const at: Date = b; type F = typeof fetch',
    'Math.max(1, 2)',
    'service.fetch(request)',
    'export const service = { fetch: answer }',
    'export const service = { fetch(request) { return answer(request) } }',
    'const use = ({ fetch }) => fetch(request)',
    'function fetch() {} fetch()',
    'crypto.subtle.digest("SHA-256", bytes)',
    "import { fetch } from './ports.js'; fetch()",
  ])('ignores %s', (text) => expect(uses(text)).toEqual([]))

  test.each([
    ['time', 'export const now = () => Date.now()', 'clock of its own (Date)'],
    ['chance', 'export const id = () => crypto.randomUUID()', 'randomness of its own (crypto)'],
    ['the network', 'export const get = (url) => globalThis.fetch(url)', 'network of its own (fetch)'],
  ])('allows %s only in the default ports', (_, text, what) => {
    expect(faults({ 'src/base/ports.ts': text })).toEqual([])
    expect(faults({ 'src/base/time.ts': text })).toEqual([
      `src/base/time.ts:1: rule 3: src/ has no ${what}; use the port`,
    ])
  })
})
