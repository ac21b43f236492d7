import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, type TestContext } from 'vitest'
import { need, npmPackages } from '../clients/support/toolchain.js'
import { project } from './packed.js'
import { addFiles, nodeOf, PAID, packedFile, platformTests, withNode } from './platforms/platform-tests.js'

/** Each package manager installs the package, and runs a shop that stores in files. */

interface Manager {
  readonly context: TestContext
  /** The package that has it, and the path of its program there. */
  readonly from: Readonly<Record<string, string>>
  readonly program: string
  /** Its configuration, by file. */
  readonly files?: Readonly<Record<string, string>>
  readonly install?: readonly string[]
  /** How it runs a script. */
  readonly run?: readonly string[]
}

platformTests('packageManagers', {
  npm: ({ context, version }) => shopBy({ context, from: { npm: version }, program: 'npm/bin/npm-cli.js' }),
  pnpm: ({ context, version }) => shopBy({ context, from: { pnpm: version }, program: 'pnpm/bin/pnpm.mjs' }),
  yarn: ({ context, version }) =>
    version === '1'
      ? shopBy({ context, from: { yarn: version }, program: 'yarn/bin/yarn.js' })
      : shopBy({
          context,
          from: { '@yarnpkg/cli-dist': version },
          program: '@yarnpkg/cli-dist/bin/yarn.js',
          files: { '.yarnrc.yml': 'nodeLinker: pnp\nenableTelemetry: false\n', 'yarn.lock': '' },
          run: ['node'],
        }),
  bun: ({ context, version }) => shopBy({ context, from: { bun: version }, program: 'bun/bin/bun.exe' }),
})

/** Installs the packed package as a dependency of a new project, and runs the shop with Node. Returns the manager's version. */
async function shopBy({ context, from, program, files = {}, install = ['install'], run }: Manager): Promise<string> {
  const name = Object.keys(from)[0] ?? ''
  const folder = await need(context, npmPackages(name.replaceAll(/\W/g, ''), from))
  const node = await nodeOf(context, '22')
  const shop = await project(context, [])
  const place = join(shop.folder, 'shop')
  await mkdir(place)
  const dependencies = { farthing: `file:${await packedFile()}` }
  await writeFile(join(place, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }))
  for (const [path, text] of Object.entries(files)) await writeFile(join(place, path), text)
  await addFiles(place, ['shop.mjs'])
  const path = join(folder, 'node_modules', program)
  const manager = path.endsWith('.exe') ? [path] : [node, path]
  const env = withNode(node)
  const inShop = (command: readonly string[]) =>
    shop.run(['sh', '-e', '-c', 'cd shop; exec "$@"', 'sh', ...command], env)
  await inShop([...manager, ...install])
  expect((await inShop([...(run ? [...manager, ...run] : [node]), 'shop.mjs'])).trim()).toBe(`${PAID}\nkept 2`)
  return (await inShop([...manager, '--version'])).trim()
}
