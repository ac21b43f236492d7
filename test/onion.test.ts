import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { ts } from '../scripts/typescript.js'

const root = new URL('../', import.meta.url)
const sources = readdirSync(new URL('src/', root), { recursive: true, encoding: 'utf8' })
  .map((path) => `src/${path.replaceAll('\\', '/')}`)
  .filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.d.ts'))
const texts = new Map(sources.map((path) => [path, readFileSync(new URL(path, root), 'utf8')]))

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
