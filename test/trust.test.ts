import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { countsIn, sourceParts, type TestCounts, withPart } from './support/trust/page.js'
import { describeRehearsal } from './support/trust/rehearsal.js'

const path = 'docs/trust.md'

test('the trust page shows the operations, grades, suites and titles of today: npm run trust writes it', () => {
  const page = readFileSync(path, 'utf8')
  const counted = process.env.FARTHING_TRUST_COUNTS
  const counts: TestCounts = counted ? JSON.parse(counted) : countsIn(page)
  const current = Object.entries(sourceParts(counts)).reduce((text, [name, part]) => withPart(text, name, part), page)
  if (process.env.FARTHING_WRITE_TRUST) writeFileSync(path, current)
  else expect(page).toBe(current)
})

test('the trust page shows what a rehearsal finds in our own client', async () => {
  const page = readFileSync(path, 'utf8')
  const current = withPart(page, 'rehearsal', await describeRehearsal())
  if (process.env.FARTHING_WRITE_TRUST) writeFileSync(path, current)
  else expect(page).toBe(current)
})

test('the trust page says of each measured part when it was measured, at which commit', () => {
  const page = readFileSync(path, 'utf8')
  for (const name of ['runs', 'mutation', 'benchmarks']) {
    const [, part = ''] = new RegExp(`<!-- ${name} -->([\\s\\S]*)<!-- end of ${name} -->`).exec(page) ?? []
    expect(part).toMatch(/Measured on \d{4}-\d\d-\d\d at commit `[0-9a-f]{7,}`|Not measured yet/)
  }
})
