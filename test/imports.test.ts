import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { violations } from './support/import-rules.js'
import { readModules } from './support/modules.js'

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

test('every import keeps the rules of the architecture', () => {
  expect(texts.size).toBeGreaterThan(50)
  expect(violations(modules)).toEqual([])
})

test('every relative import leads to a module', () => {
  const missing = modules.flatMap(({ path: from, imports }) =>
    imports.flatMap(({ path, line }) =>
      path === undefined || texts.has(path.replace(/\?script$/, '')) ? [] : [`${from}:${line}: ${path}`],
    ),
  )
  expect(missing.filter((line) => !line.endsWith('package.json'))).toEqual([])
})

describe('the reader of imports finds a break of', () => {
  const cases: [rule: string, texts: Record<string, string>, fault: string][] = [
    [
      'rule 1: a rule that knows requests',
      { 'src/twins/twin.ts': "\nimport { route } from '../http/route.js'", 'src/http/route.ts': '' },
      'src/twins/twin.ts:2: rule 1: the rules of a feature may not import src/http/route.ts',
    ],
    [
      'rule 1: a rule that imports routes',
      { 'src/twins/twin.ts': "import { a } from '../users/routes.js'", 'src/users/routes.ts': '' },
      'src/twins/twin.ts:1: rule 1: the rules of a feature may not import src/users/routes.ts',
    ],
    [
      'rule 1: a part that imports the whole',
      { 'src/http/router.ts': "import { createService } from '../service.js'", 'src/service.ts': '' },
      'src/http/router.ts:1: rule 1: only the modules that compose the service import src/service.ts',
    ],
    [
      'rule 1: storage that knows a feature',
      { 'src/storage/key.ts': "import { a } from '../twins/twin.js'", 'src/twins/twin.ts': '' },
      'src/storage/key.ts:1: rule 1: storage/ may not import src/twins/twin.ts',
    ],
    [
      'rule 1: http that knows a feature',
      { 'src/http/router.ts': "import { a } from '../twins/twin.js'", 'src/twins/twin.ts': '' },
      'src/http/router.ts:1: rule 1: http/ (but principal.ts) may not import src/twins/twin.ts',
    ],
    [
      'rule 1: a circle',
      {
        'src/users/user.ts': "import '../twins/twin.js'",
        'src/twins/twin.ts': "export * from '../tokens/token.js'",
        'src/tokens/token.ts': "const a = await import('../users/user.js')",
      },
      'src/tokens/token.ts:1: rule 1: imports run in a circle: src/tokens/token.ts → src/users/user.ts → src/twins/twin.ts → src/tokens/token.ts',
    ],
    [
      'rule 2: routes that use another feature',
      { 'src/twins/routes.ts': "import { a } from '../users/user.js'", 'src/users/user.ts': '' },
      'src/twins/routes.ts:1: rule 2: routes may not import src/users/user.ts',
    ],
    [
      'rule 2: routes that use the router',
      { 'src/twins/routes.ts': "import { a } from '../http/router.js'", 'src/http/router.ts': '' },
      'src/twins/routes.ts:1: rule 2: routes may not import src/http/router.ts',
    ],
    [
      'rule 2: itty-router outside http/',
      { 'src/twins/routes.ts': "import { IttyRouter } from 'itty-router'" },
      'src/twins/routes.ts:1: rule 2: only src/http/ import itty-router',
    ],
    [
      'rule 2: jose outside oidc/ and tokens/',
      { 'src/users/user.ts': "import type { JWK } from 'jose'" },
      'src/users/user.ts:1: rule 2: only src/oidc/ and src/tokens/ import jose',
    ],
    [
      'rule 2: an MCP SDK that is loaded at once',
      { 'src/mcp/server.ts': "import { McpServer } from '@modelcontextprotocol/server'" },
      'src/mcp/server.ts:1: rule 2: @modelcontextprotocol/server is loaded on first use',
    ],
    [
      'rule 3: an adapter in src/',
      { 'src/service.ts': "import '../adapters/node.js'", 'adapters/node.ts': '' },
      'src/service.ts:1: rule 3: src/ never imports adapters/',
    ],
    [
      'rule 3: a module of Node',
      { 'src/hash.ts': "import { createHash } from 'node:crypto'" },
      'src/hash.ts:1: rule 3: src/ never imports node:crypto',
    ],
    [
      'rule 3: a module of Node by its bare name',
      { 'src/hash.ts': "const fs = require('fs')" },
      'src/hash.ts:1: rule 3: src/ never imports fs',
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
      'clients: browser code that brings the service along',
      {
        'src/embeds/embed.client.ts': "import { price } from './price.js'",
        'src/embeds/price.ts': "import { z } from 'zod'",
      },
      'src/embeds/embed.client.ts:1: clients: browser code may not import src/embeds/price.ts, which leads to src/embeds/price.ts',
    ],
    [
      'clients: a service that runs browser code',
      { 'src/embeds/offer.ts': "import { a } from './embed.client.js'", 'src/embeds/embed.client.ts': '' },
      'src/embeds/offer.ts:1: clients: src/ imports browser code as a ?script, or its types',
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
  ])('sees %s', (text, name) => expect(uses(text)).toEqual([name]))

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
  ])('lets %s be', (text) => expect(uses(text)).toEqual([]))

  test.each([
    ['time', 'export const now = () => Date.now()', 'clock of its own (Date)'],
    ['chance', 'export const id = () => crypto.randomUUID()', 'randomness of its own (crypto)'],
    ['the network', 'export const get = (url) => globalThis.fetch(url)', 'network of its own (fetch)'],
  ])('has %s come from the default ports alone', (_, text, what) => {
    expect(faults({ 'src/ports.ts': text })).toEqual([])
    expect(faults({ 'src/time.ts': text })).toEqual([`src/time.ts:1: rule 3: src/ has no ${what}; use the port`])
  })
})
