import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packed, project } from './packed.js'

/** What `npm install farthing` brings. Who makes it larger raises these numbers, and says why. */
const MOST_PACKAGES = 24
const MOST_MB = 19

const tarball = packed()

test(`npm install farthing brings at most ${MOST_PACKAGES} packages and ${MOST_MB} MB`, async (context) => {
  const user = await project(context, [await tarball()])
  const listed = await user.run(['npm', 'ls', '--all', '--parseable'])
  const packages = new Set(listed.split('\n').filter((path) => path.includes('node_modules')))
  expect(packages.size, listed).toBeGreaterThan(10)
  expect(packages.size, listed).toBeLessThanOrEqual(MOST_PACKAGES)
  const entries = await readdir(join(user.folder, 'node_modules'), { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  const sizes = await Promise.all(files.map((file) => lstat(join(file.parentPath, file.name)).then(({ size }) => size)))
  const megabytes = sizes.reduce((sum, size) => sum + size, 0) / 1e6
  expect(megabytes).toBeGreaterThan(5)
  expect(megabytes).toBeLessThanOrEqual(MOST_MB)
})
