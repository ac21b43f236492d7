import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { nodeOf, platformTests, shopProject, versionOf, withNode } from './platforms/platform-tests.js'

const CASES = `
import { farthingTest } from 'farthing/vitest'
import { expect } from 'vitest'
import { pay } from './pay.mjs'

const test = farthingTest({ seed: { users: [{ email: 'reader@example.test', balance: 1 }] } })
test('a new account sells', async ({ service }) => expect(await pay(service)).toMatch(/^paid 0.25, validated/))
test('each test has its own fork', async ({ client, sandbox, seeded }) => {
  expect((await client.as(seeded.users[0]).twins.list()).twins).toHaveLength(1)
  expect(await sandbox.ledger()).toMatchObject({ ok: true, movements: 1 })
})
`

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
})
