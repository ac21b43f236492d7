import { join } from 'node:path'
import { expect, type TestContext } from 'vitest'
import { need, npmPackages } from '../clients/support/toolchain.js'
import {
  expectCommandEnds,
  nodeOf,
  PAID,
  payAtServer,
  platformTests,
  shopProject,
  versionOf,
  withNode,
} from './platforms/platform-tests.js'

/** Each runtime pays in process and over HTTP, stores in files what has files, and ends by itself. */

platformTests('runtimes', {
  async node({ context, version }) {
    const node = await nodeOf(context, version)
    return runShop(context, [node], [node])
  },

  async bun({ context, version }) {
    const bun = await need(context, bunOf(version))
    return runShop(context, [bun], [bun])
  },

  async deno({ context, version }) {
    const folder = await need(context, npmPackages('deno', { deno: version }))
    const run = [join(folder, 'node_modules', '.bin', 'deno'), 'run', '--no-prompt']
    // No more than the table says.
    const files = ['--allow-net', '--allow-read=.', '--allow-write=state']
    const shop = await shopProject(context, [], ['in-process.mjs', 'shop.mjs', 'killed.mjs'])
    const takeover = [...run, ...files, '--allow-sys=hostname', '--allow-run']
    await expect(shop.run([...takeover, 'killed.mjs'])).rejects.toThrow('ended with null')
    await expect(shop.run([...run, ...files, 'shop.mjs'])).rejects.toThrow('StorageLocked')
    expect((await shop.run([...takeover, 'shop.mjs'])).trim()).toBe(`${PAID}\nkept 2`)
    return runShop(context, [...run, ...files], [...run, '--allow-all'])
  },

  async workerd({ context, version }) {
    const node = await nodeOf(context, '22')
    const shop = await shopProject(context, [`wrangler@${version}`], ['worker.mjs'])
    const wrangler = [node, join('node_modules', 'wrangler', 'bin', 'wrangler.js'), 'dev', 'worker.mjs']
    const options = ['--ip', '127.0.0.1', '--compatibility-date', '2026-01-01', '--port']
    await payAtServer(shop, {
      command: (port) => [...wrangler, ...options, port],
      env: () => ({ ...withNode(node), CI: 'true', WRANGLER_SEND_METRICS: 'false' }),
      isWorker: true,
    })
    return `${await versionOf(shop, 'wrangler')}, workerd ${await versionOf(shop, 'workerd')}`
  },

  async edge({ context, version }) {
    const shop = await shopProject(
      context,
      [`edge-runtime@${version}`, 'esbuild@0.28'],
      ['worker.mjs', 'worker-script.mjs'],
    )
    await shop.run(['npx', '--no-install', 'esbuild', 'worker-script.mjs', '--bundle', '--outfile=bundle.js'])
    const edge = [process.execPath, join('node_modules', '.bin', 'edge-runtime'), '--listen', 'bundle.js', '--port']
    await payAtServer(shop, { command: (port) => [...edge, port], isWorker: true })
    return versionOf(shop, 'edge-runtime')
  },
})

/** `run` runs a script of the project, `command` that of the package, which may do anything. */
async function runShop(context: TestContext, run: readonly string[], command: readonly string[]): Promise<string> {
  const shop = await shopProject(context, [], ['in-process.mjs', 'shop.mjs'])
  expect((await shop.run([...run, 'in-process.mjs'])).trim()).toBe(PAID)
  expect((await shop.run([...run, 'shop.mjs'])).trim()).toBe(`${PAID}\nkept 2`)
  await expectCommandEnds(shop, command)
  return /\d[\d.]+/.exec(await shop.run([run[0] ?? '', '--version']))?.[0] ?? ''
}

async function bunOf(version: string): Promise<string> {
  const folder = await npmPackages('bun', { bun: version })
  return join(folder, 'node_modules', '.bin', 'bun')
}
