import { readFileSync } from 'node:fs'
import { describe, expect, it, test } from 'vitest'
import { collections } from '../../src/collections.js'
import { DAY, defaultRetention, isSwept, keptFor, type SweptRule } from '../../src/storage/retention.js'
import type { Row } from '../../src/storage/storage.js'

const HOUR = DAY / 24

test('every collection says how long it keeps its rows, and why', () => {
  const without = collections.filter(({ retention }) => retention === undefined)
  expect(without.map(({ name }) => name)).toEqual([])
})

test('value is kept forever: movements, entries, invoices, payments and receipts', () => {
  const forever = collections.filter(({ retention }) => retention && 'forever' in retention).map(({ name }) => name)
  expect(forever).toEqual(
    expect.arrayContaining(['movements', 'entries', 'balances', 'invoices', 'payments', 'purchases', 'paybacks']),
  )
})

describe.each(collections.filter(({ retention }) => isSwept(retention)))('$name', (collection) => {
  const rule = collection.retention as SweptRule<Row>
  const fields: readonly string[] = rule.index === 'id' ? ['id'] : (collection.indexes[rule.index]?.fields ?? [])

  it('is swept in the order of an index that has exactly one field after the prefix', () => {
    expect(fields).not.toEqual([])
    for (const prefix of rule.prefixes ?? [[]]) expect(fields).toHaveLength(prefix.length + 1)
  })

  it('says when each row ended', () => {
    expect(rule.index === 'id').toBe(rule.endsOf !== undefined)
    expect(keptFor(rule, defaultRetention)).toBeGreaterThanOrEqual(0)
  })
})

test('docs/retention.md lists the rules of the collections', () => {
  const document = readFileSync(new URL('../../docs/retention.md', import.meta.url), 'utf8')
  const table = document.split('## The collections')[1]?.split('## Options')[0] ?? ''
  const rows = table.split('\n').filter((line) => line.startsWith('| `'))
  expect(rows).toEqual(collections.map(documented).sort())
})

/** A line of the table. */
function documented({ name, retention }: (typeof collections)[number]): string {
  const cells = (() => {
    if (!retention) return ['', '']
    if ('forever' in retention) return ['forever', retention.forever]
    if ('until' in retention) return [`until ${retention.until}`, '']
    const { after, unless, belongings, keepMs, mostRows } = retention
    const option = typeof keepMs === 'string' ? ` (\`limits.${keepMs}\`)` : ''
    const kept = keptFor(retention, defaultRetention)
    const most = mostRows ? `, ${defaultRetention[mostRows]} rows at most (\`limits.${mostRows}\`)` : ''
    const more = [unless && `Stays if ${unless}.`, belongings && `Goes with ${belongings.are}.`]
    return [
      `${kept === 0 ? 'until' : `${inWords(kept)}${option} after`} ${after}${most}`,
      more.filter(Boolean).join(' '),
    ]
  })()
  return `| \`${name}\` | ${cells.join(' | ')} |`
}

function inWords(ms: number): string {
  const [count, unit] =
    ms % DAY === 0 ? [ms / DAY, 'day'] : ms % HOUR === 0 ? [ms / HOUR, 'hour'] : [ms / 60_000, 'minute']
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}
