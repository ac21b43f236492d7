import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cli } from '../support/cli.js'
import { scratchFolder } from '../support/docs/folder.js'
import { blockTestedBy } from '../support/docs/markdown.js'

/** The block of docs/guides/container.md runs without containers: what it says of the image is said to the built command. */

const farthing = cli()
const scratch = scratchFolder()

test('a test reaches the sandbox of its container, and stops it', async () => {
  const block = blockTestedBy('test/docs/container-block.test.ts', 'docs/guides/container.md', 'GenericContainer')
  const file = join(scratch(), 'container.ts')
  await writeFile(join(scratch(), 'stand-in.ts'), STAND_IN)
  await writeFile(file, block.replace("'testcontainers'", "'./stand-in.ts'"))
  const ended: unknown[] = []
  const start = async (command: string[], env: Record<string, string>) => {
    const sandbox = await farthing.start(command.slice(1), { env })
    const stop = async () => ended.push(await sandbox.stop())
    return { getHost: () => 'localhost', getMappedPort: () => Number(new URL(sandbox.url).port), stop }
  }
  Object.assign(globalThis, { startContainer: start })
  await import(/* @vite-ignore */ file)
  expect(ended).toMatchObject([{ code: 0 }])
})

/** Has only the methods that the block calls, so that a misspelled one fails. */
const STAND_IN = `
export const Wait = { forHealthCheck: () => 'healthy' }
export class GenericContainer {
  constructor(image) {
    if (image !== 'farthing') throw new Error('no image ' + image)
  }
  withCommand(command) { return Object.assign(this, { command }) }
  withEnvironment(environment) { return Object.assign(this, { environment }) }
  withExposedPorts(...ports) { return Object.assign(this, { ports }) }
  withWaitStrategy(strategy) { return Object.assign(this, { strategy }) }
  start() {
    if (this.strategy !== 'healthy' || this.ports[0] !== 4242) throw new Error('it would not be reached')
    return globalThis.startContainer(this.command, this.environment)
  }
}`
