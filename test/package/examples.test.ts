import { readdirSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { VERSION } from '../../src/base/version.js'
import { npm } from '../clients/support/toolchain.js'
import { browserCommand } from '../support/browser/browser.js'
import { packed, project } from './packed.js'

/** Each folder of `examples/` is a project of its own. It runs as if someone had copied it, with the packed package. */

const folder = fileURLToPath(new URL('../../examples', import.meta.url))
const examples = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
const tarball = packed()

describe.each(examples)('examples/%s', (name) => {
  const from = join(folder, name)

  test('installs, passes its own tests, and compiles', async (context) => {
    const { dependencies, devDependencies } = JSON.parse(await readFile(join(from, 'package.json'), 'utf8'))
    expect({ ...dependencies, ...devDependencies }.farthing).toBe(`^${VERSION}`)
    const example = await project(context, [await tarball()], from)
    // The browser of these tests, so that none is downloaded.
    const env = devDependencies?.['@playwright/test'] ? { CHROME_PATH: await browserCommand() } : {}
    await example.run([...npm, 'test'], env)
    await example.run(['npx', '--no-install', 'tsc', '--noEmit'])
    for (const step of await workflowSteps(from)) await example.run(['sh', '-e', '-c', step], { CI: 'true' })
  })
})

/** The commands of the example's GitHub workflows that run if all is well, in order. */
async function workflowSteps(from: string): Promise<string[]> {
  const workflows = join(from, '.github', 'workflows')
  const files = await readdir(workflows).catch(() => [])
  const texts = await Promise.all(files.map((file) => readFile(join(workflows, file), 'utf8')))
  return texts
    .map((text) => parse(text) as { jobs: Record<string, { steps: { run?: string; if?: string }[] }> })
    .flatMap(({ jobs }) => Object.values(jobs))
    .flatMap(({ steps }) => steps)
    .flatMap(({ run, if: condition }) => (run && condition !== 'failure()' ? [run] : []))
}
