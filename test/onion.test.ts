import { readdirSync, readFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, it } from 'vitest'
import { loadedWith } from './support/rules/import-rules.js'
import { readModules } from './support/rules/modules.js'

const root = new URL('../', import.meta.url)
const sources = readdirSync(new URL('src/', root), { recursive: true, encoding: 'utf8' })
  .map((path) => `src/${path.replaceAll('\\', '/')}`)
  .filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.d.ts'))
const texts = new Map(sources.map((path) => [path, readFileSync(new URL(path, root), 'utf8')]))
const modules = readModules(texts)

/** What every service has: the rows of its settings, its start, and the check of its options. */
const OF_EVERY_SERVICE = [
  'src/sandbox/controls/bootstrap.ts',
  'src/sandbox/controls/seed/seed-schema.ts',
  'src/sandbox/faults/fault-shape.ts',
  'src/sandbox/onion/access.ts',
  'src/sandbox/onion/context.ts',
  'src/sandbox/settings/settings.ts',
  'src/sandbox/settings/take-key.ts',
]

it('a service that is no sandbox loads no layer of one', () => {
  const loaded = loadedWith(['src/service.ts', 'src/http/routing/perform.ts'], modules)
  const isDeclaration = (path: string) => /\/(feature|problems)\.ts$/.test(path)
  const ofSandbox = loaded.filter(
    (path) => path.startsWith('src/sandbox/') && !isDeclaration(path) && !OF_EVERY_SERVICE.includes(path),
  )
  expect(loaded.length).toBeGreaterThan(100)
  expect(ofSandbox).toEqual([])
})

it('what makes a sandbox loads its layers', () => {
  const loaded = loadedWith(['src/composition/sandboxed.ts'], modules)
  for (const path of ['faults/faults.ts', 'journal/journal.ts', 'onion/around-requests.ts', 'onion/guard.ts'])
    expect(loaded).toContain(`src/sandbox/${path}`)
})

it('the groups before the sandbox name no journal, fault, fork or metric of it', () => {
  const words = /\b(journal|FaultEngine|FAULT_HEADER|forks|measurements|guardControls|guardChange|guardCaller)\b/
  const routing = [...texts].filter(([path]) => /^src\/http\/(routing\/|around|recorder|incoming|context)/.test(path))
  expect(routing.length).toBeGreaterThan(6)
  expect(routing.filter(([, text]) => words.test(text)).map(([path]) => path)).toEqual([])
})

it('the context of a service has at most 24 members', () => {
  const path = 'src/http/context.ts'
  const file = ts.createSourceFile(path, texts.get(path) ?? '', ts.ScriptTarget.Latest)
  const context = file.statements.filter(ts.isInterfaceDeclaration).find(({ name }) => name.text === 'ServiceContext')
  expect(context?.heritageClauses).toBeUndefined()
  expect(context?.members.length).toBeGreaterThan(10)
  expect(context?.members.length).toBeLessThanOrEqual(24)
})
