import type { Row } from './api.js'
import { Copy, Time } from './parts.js'
import { linkTo, moneyOfUnits, nameOf, quantities } from './state.js'

/** One value of a row: a time, an amount, a link to another row, or as it is. */
export function Cell({
  row,
  field,
  refs,
  isWhole = false,
}: {
  row: Row
  field: string
  refs: Readonly<Record<string, string>>
  isWhole?: boolean
}) {
  const value = row[field]
  if (value === null || value === undefined) return <span class="muted">–</span>
  if (typeof value === 'number' && /(^|_)at$/.test(field)) return <Time at={value} />
  if (amounts.has(field) && typeof value === 'string') return <>{moneyOfUnits(value, row.dq)}</>
  if (field === 'dq')
    return (
      <a href={linkTo('data', 'digital_quantities', String(value))}>
        {quantities.value.get(String(value))?.shortcode ?? short(value)}
      </a>
    )
  const owner = /^(user|account):(\d+)$/.exec(String(value))
  if (owner?.[1] && owner[2]) return <a href={linkTo('data', `${owner[1]}s`, owner[2])}>{nameOf(String(value))}</a>
  if (!isWhole && String(value).startsWith('wallet:')) return <span title={String(value)}>{nameOf(String(value))}</span>
  const to = refs[field]
  if (to && typeof value !== 'object')
    return <a href={linkTo('data', to, String(value))}>{isWhole ? String(value) : short(value)}</a>
  if (typeof value === 'object')
    return isWhole ? (
      <pre>
        <code>{JSON.stringify(value, null, 2)}</code>
      </pre>
    ) : (
      short(JSON.stringify(value))
    )
  return isWhole && String(value).length > LONG ? (
    <>
      <code>{String(value)}</code> <Copy text={String(value)} />
    </>
  ) : isWhole ? (
    String(value)
  ) : (
    short(value)
  )
}

const amounts = new Set(['amount', 'cost', 'held', 'fee', 'total', 'price', 'balance'])
const LONG = 24

const short = (value: unknown): string => {
  const text = String(value)
  return text.length > LONG ? `${text.slice(0, LONG - 8)}…${text.slice(-4)}` : text
}
