import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../support/docs/markdown.js'

test('the site is built, with a page for each page and the pictures of the workbench', () => {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  execFileSync(npm, ['run', 'docs:build'], { cwd: root, stdio: 'pipe', shell: process.platform === 'win32' })
  const built = readdirSync(join(root, 'docs/.vitepress/dist'), { recursive: true, encoding: 'utf8' })
  expect(built).toEqual(expect.arrayContaining(['index.html', 'quick-start.html', join('reference', 'errors.html')]))
  expect(built.filter((name) => name.startsWith('pictures'))).not.toEqual([])
})
