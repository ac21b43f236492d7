import { readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { expect, test } from 'vitest'
import { useCheckout } from './checkout.js'

const checkout = useCheckout()
const { beReady, run, setUp, steps } = checkout

test('keeps an installation by hand', async () => {
  await beReady()
  await rm(checkout.in('node_modules', '.farthing-all'))
  await setUp()
  await utimes(checkout.in('package-lock.json'), 1, 1)
  await setUp()
  expect(await steps()).toEqual(['npm ci', 'build', 'build', 'build'])
})

test('installs again for a different major version of Node', async () => {
  await beReady()
  const stamp = checkout.in('node_modules', '.farthing-all')
  await writeFile(stamp, (await readFile(stamp, 'utf8')).replace(/-node\d+ /, '-node18 '))
  await setUp()
  expect(await steps()).toEqual(['npm ci', 'build', 'npm ci', 'build'])
})

test('ignores the lock of a dead process', async () => {
  await beReady()
  await writeFile(checkout.in('src', 'index.ts'), 'export const a = 1')
  await writeFile(checkout.in('.setup.lock'), `${hostname()} 999999999`)
  const both = await Promise.all([setUp(), setUp()])
  expect(both.map(({ code }) => code)).toEqual([0, 0])
  expect(await steps()).toEqual(['npm ci', 'build', 'build'])
})

test('shows why a build fails, and tries again', async () => {
  await beReady()
  await writeFile(checkout.in('src', 'index.ts'), 'export const a = 1')
  const { code, stderr } = await setUp({ BUILD_FAILS: '1' })
  expect(code).toBe(1)
  expect(stderr).toMatch(/src\/index\.ts: no such thing\nfarthing: the build failed, see above\n$/)
  expect((await setUp()).code).toBe(0)
  expect(await steps()).toEqual(['npm ci', 'build', 'build', 'build'])
})

test('a build for the tests serves a start too, but not the other way round', async () => {
  await run('start.mjs')
  await setUp()
  await run('start.mjs')
  expect(await steps()).toEqual(['npm ci', 'build cli', 'build'])
})

test('a build by hand builds again, and is the build that the tests use', async () => {
  await beReady()
  expect(await run('setup.mjs', { args: ['--again'] })).toMatchObject({ code: 0 })
  await setUp()
  expect(await steps()).toEqual(['npm ci', 'build', 'build'])
})
