import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { referencePages } from './pages.js'

const folder = join('docs', 'reference')
rmSync(folder, { recursive: true, force: true })
for (const [path, text] of referencePages()) {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
