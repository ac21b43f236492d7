import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { agentTexts } from './texts.js'

for (const [path, text] of agentTexts()) {
  const file = join('dist', path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
