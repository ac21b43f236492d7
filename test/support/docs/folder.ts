import { mkdirSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { root } from './markdown.js'

/** A folder for the tests of one file. It is in the package, so that what runs there imports `farthing` as users do. */
export function scratchFolder(): () => string {
  let folder = ''
  beforeAll(() => {
    mkdirSync(join(root, '.farthing'), { recursive: true })
    folder = mkdtempSync(join(root, '.farthing', 'docs-'))
  })
  afterAll(() => rm(folder, { recursive: true }))
  return () => folder
}
