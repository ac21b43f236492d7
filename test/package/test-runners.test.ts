import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { nodeOf, PAID, platformTests, shopProject, versionOf, withNode } from './platforms/platform-tests.js'

const CASES = `
import { farthingTest } from 'farthing/vitest'
import { expect } from 'vitest'
import { pay } from '../support/scenes/market.js'

const test = farthingTest({ seed: { users: [{ email: 'reader@example.test', balance: 1 }] } })
test('a new account sells', async ({ service }) => expect(await pay(service)).toMatch(/^paid 0.25, validated/))
test('each test has its own fork', async ({ client, sandbox, seeded }) => {
  expect((await client.as(seeded.users[0]).twins.list()).twins).toHaveLength(1)
  expect(await sandbox.ledger()).toMatchObject({ ok: true, movements: 1 })
})
`

const CASE_OF_JEST = `
import { createService } from 'farthing'
import { pay } from '../support/scenes/market.js'

test('a new account sells', async () => {
  const service = createService({ sandbox: true })
  expect(await pay(service)).toBe('${PAID}')
  await service.close()
})
`

/** The files that the guide shows. */
const jestFiles = ['jest.config.js', 'jest-environment.js']

platformTests('testRunners', {
  async vitest({ context, version }) {
    const shop = await shopProject(context, [`vitest@${version}`])
    await writeFile(join(shop.folder, 'shop.test.mjs'), CASES)
    const node = await nodeOf(context, '22')
    const printed = await shop.run([node, 'node_modules/vitest/vitest.mjs', 'run'], {
      ...withNode(node),
      NO_COLOR: '1',
    })
    expect(printed).toMatch(/Tests +2 passed/)
    return versionOf(shop, 'vitest')
  },

  async jest({ context, version }) {
    const packages = [`jest@${version}`, `jest-environment-jsdom@${version}`, 'jest-fixed-jsdom@0']
    const shop = await shopProject(context, packages)
    for (const file of jestFiles) await cp(join(import.meta.dirname, 'msw', 'project', file), join(shop.folder, file))
    await writeFile(join(shop.folder, 'shop.test.mjs'), CASE_OF_JEST)
    const node = await nodeOf(context, '22')
    const printed = await shop.run([node, 'node_modules/jest/bin/jest.js'], {
      ...withNode(node),
      NODE_OPTIONS: '--experimental-vm-modules',
    })
    expect(printed).toMatch(/Tests: +1 passed/)
    return versionOf(shop, 'jest')
  },
})
