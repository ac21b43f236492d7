import { rm, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import config from '../../tsdown.config.js'
import { howMuch } from '../support/how-much.js'
import { lockOf, useCheckout } from './checkout.js'

const checkout = useCheckout()
const { beReady, run, setUp, steps } = checkout

test('installs and builds a fresh checkout, and says so on stderr, and does nothing if nothing changed', async () => {
  expect(await setUp()).toEqual({
    code: 0,
    stdout: '',
    stderr: 'farthing: installing dependencies (npm ci)\nfarthing: building\n',
  })
  expect(await steps()).toEqual(['npm ci', 'build'])
  expect(await setUp()).toEqual({ code: 0, stdout: '', stderr: '' })
  expect(await steps()).toEqual(['npm ci', 'build'])
})

test('builds again after a source changes, appears or disappears', async () => {
  await beReady()
  await writeFile(checkout.in('src', 'index.ts'), 'export const a = 1')
  await setUp()
  await writeFile(checkout.in('src', 'other.ts'), '')
  await setUp()
  await rm(checkout.in('src', 'other.ts'))
  await setUp()
  await rm(checkout.in('dist'), { recursive: true })
  await setUp()
  expect(await steps()).toEqual(['npm ci', 'build', 'build', 'build', 'build', 'build'])
})

test('installs a changed lock file', async () => {
  await beReady()
  await writeFile(checkout.in('package-lock.json'), lockOf('4.1.0'))
  await setUp()
  expect(await steps()).toEqual(['npm ci', 'build', 'npm ci', 'build'])
})

test('installs and builds once if two start at once', async () => {
  const both = await Promise.all([setUp(), setUp()])
  expect(both.map(({ code }) => code)).toEqual([0, 0])
  expect(await steps()).toEqual(['npm ci', 'build'])
})

test('prints one line if the installation fails, and tries again', async () => {
  const reasons = [
    [
      'npm error code ENOTFOUND\nnpm error network request failed',
      'cannot reach the npm registry (ENOTFOUND). Connect to the network and try again.',
    ],
    ['npm error code EACCES\nnpm error syscall mkdir\nnpm error no access', 'npm ci failed (EACCES): no access'],
    ['killed', 'npm ci failed (exit 1): no reason given'],
  ] as const
  for (const [output, line] of howMuch(reasons.slice(0, 2), reasons.slice())) {
    const { code, stderr } = await setUp({ NPM_FAILS: output })
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `farthing: installing dependencies (npm ci)\nfarthing: ${line}\n`,
    })
  }
  expect((await setUp()).code).toBe(0)
})

test('npm start builds only the command, and runs it with its arguments', async () => {
  const start = (...args: string[]) => run('start.mjs', { args })
  expect(await start('--port', '5000')).toMatchObject({ code: 0, stdout: 'farthing --port 5000\n' })
  expect(await start()).toEqual({ code: 0, stdout: 'farthing\n', stderr: '' })
  expect(await steps()).toEqual(['npm ci', 'build cli'])
})

test('builds each part of tsdown.config.ts once', async () => {
  const { parts } = await import(new URL('../../scripts/setup.mjs', import.meta.url).href)
  expect(parts.all.builds.flat().sort()).toEqual(config.map(({ name }) => name).sort())
})
