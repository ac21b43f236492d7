import { mkdir, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { client } from '../../adapters/client.js'
import { evidenceGrades } from '../../src/base/evidence.js'
import { run } from '../clients/support/toolchain.js'

/** The build writes the types of the client from the route table, and the sources compute them from it. */

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = `${root}/.clients/same-types`

test('the built client has the operations of its sources in each grade, with the same types', async () => {
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await mkdir(folder, { recursive: true })
  const checks = evidenceGrades.flatMap((evidence) => {
    const groups = Object.entries(client('https://live.example.test', { evidence })).filter(([name]) => name !== 'as')
    const methods = groups.flatMap(([group, methods]) => Object.keys(methods).map((method) => [group, method]))
    expect(methods.length).toBeGreaterThan(0)
    return methods.map(([group, method]) => {
      const of = `Client<'${evidence}'>['${group}']['${method}']`
      // Under a stronger grade, the build also leaves out the fields that are weaker.
      return `${evidence === 'designed' ? 'same' : 'both'}<Source.${of}, Built.${of}>(true)`
    })
  })
  await writeFile(`${folder}/same.ts`, `${SAME}\n${checks.join('\n')}\n`)
  const compilerOptions = { rootDir: root }
  await writeFile(
    `${folder}/tsconfig.json`,
    JSON.stringify({
      extends: '../../tsconfig.json',
      compilerOptions,
      include: ['same.ts', '../../src/**/*.d.ts'],
      exclude: [],
    }),
  )
  const tsc = [process.execPath, `${root}/node_modules/typescript/bin/tsc`, '--project', folder]
  expect(await run(tsc, { cwd: root })).toEqual({ code: 0, output: '' })
})

const SAME = `
import type * as Source from '../../adapters/client.js'
import type * as Built from '../../dist/client/client.js'

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : 'the built type is wider') : 'the built type is narrower'
declare function same<A, B>(is: Same<A, B>): void
type Both<A, B> = [A] extends [never] ? 'missing' : [B] extends [never] ? 'missing' : true
declare function both<A, B>(are: Both<A, B>): void
`
