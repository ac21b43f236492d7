import { readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { expect, test } from 'vitest'
import { ts } from '../scripts/typescript.js'

/** What the built files import is there once npm has installed the package: a bundle names what it does not hold. */

const root = new URL('../', import.meta.url)
const { name, dependencies, peerDependencies } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))
const declared = [name, ...Object.keys({ ...dependencies, ...peerDependencies })]

/** The files that npm publishes, as `files` in package.json says. */
const paths = readdirSync(new URL('dist/', root), { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => /\.(m?js|d\.ts)$/.test(path) && !path.startsWith('jsr/'))

const packageOf = (specifier: string): string => /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? ''

/** The packages that a file imports. */
const packagesIn = (text: string): string[] =>
  ts
    .preProcessFile(text, true, true)
    .importedFiles.map(({ fileName }) => fileName)
    .filter((specifier) => !specifier.startsWith('.') && !isBuiltin(specifier))
    .map(packageOf)

const imported = new Map(paths.map((path) => [path, packagesIn(readFileSync(new URL(`dist/${path}`, root), 'utf8'))]))

test('published files import only what the package declares', () => {
  expect(paths.length).toBeGreaterThan(200)
  const undeclared = [...imported].flatMap(([path, packages]) =>
    packages.filter((each) => !declared.includes(each)).map((each) => `${path}: ${each}`),
  )
  expect(undeclared).toEqual([])
})

test('published files import every dependency', () => {
  const packages = new Set([...imported.values()].flat())
  expect(Object.keys(dependencies).filter((each) => !packages.has(each))).toEqual([])
})

test.each([
  [`import { parse } from 'yaml'`, 'yaml'],
  [`export * from '@modelcontextprotocol/server'`, '@modelcontextprotocol/server'],
  [`const later=()=>import("@scope/some/part.js")`, '@scope/some'],
  [`declare const one: import('zod').ZodType`, 'zod'],
])('%s is seen', (text, found) => {
  expect(packagesIn(`import 'node:fs'\nimport './own.js'\n${text}`)).toEqual([found])
})
