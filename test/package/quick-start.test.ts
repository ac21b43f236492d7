import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { blocksOf } from '../support/docs/markdown.js'
import { packed, project } from './packed.js'

const tarball = packed()

test('The quick start leads from an empty folder to a test that passes, in at most 30 lines', async (context) => {
  const blocks = blocksOf('docs/quick-start.md')
  const lines = blocks.flatMap(({ text }) => text.trim().split('\n')).filter((line) => line !== '')
  expect(lines.length).toBeLessThanOrEqual(30)
  const outside = await project(context, ['vitest'])
  const empty = join(outside.folder, 'empty')
  await mkdir(empty)
  const file = await tarball()
  let printed = ''
  for (const { title, text } of blocks)
    if (title) await writeFile(join(empty, title), text)
    else printed += await outside.run(['sh', '-e', '-c', `cd empty\n${text.replace(/ farthing\b/, ` ${file}`)}`])
  expect(printed).toMatch(/Tests.*1 passed/)
})
