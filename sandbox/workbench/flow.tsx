import type { Row } from './api.js'
import { moneyOfUnits, nameOf } from './state.js'

const ROW = 34
const WIDTH = 640
const LEFT = 200

/** Who paid whom, as bands between payers and payees that are as wide as what was paid. */
export function Flow({ payments }: { payments: readonly Row[] }) {
  const bands = bandsOf(payments)
  if (bands.length === 0) return null
  const payers = [...new Set(bands.map(({ from }) => from))]
  const payees = [...new Set(bands.map(({ to }) => to))]
  const height = Math.max(payers.length, payees.length) * ROW
  const most = Math.max(...bands.map(({ units }) => units))
  const y = (names: readonly string[], name: string) => (names.indexOf(name) + 0.5) * (height / names.length)
  const label = `Who paid whom: ${bands.map(({ from, to, units, dq }) => `${nameOf(from)} paid ${nameOf(to)} ${moneyOfUnits(units, dq)}`).join(', ')}`
  return (
    <svg class="flow" viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={label}>
      {bands.map(({ from, to, units, dq }) => {
        const [start, end] = [y(payers, from), y(payees, to)]
        return (
          <g key={`${from} ${to} ${dq}`}>
            <path
              d={`M${LEFT} ${start}C${WIDTH / 2} ${start} ${WIDTH / 2} ${end} ${WIDTH - LEFT} ${end}`}
              stroke-width={2 + (units / most) * 14}
            />
            <text x={LEFT + 10} y={start + 4} class="sum">
              {moneyOfUnits(units, dq)}
            </text>
          </g>
        )
      })}
      {payers.map((name) => (
        <text key={name} x={LEFT - 8} y={y(payers, name) + 4} text-anchor="end">
          {cut(nameOf(name))}
        </text>
      ))}
      {payees.map((name) => (
        <text key={name} x={WIDTH - LEFT + 8} y={y(payees, name) + 4}>
          {cut(nameOf(name))}
        </text>
      ))}
    </svg>
  )
}

const cut = (name: string) => (name.length > 24 ? `${name.slice(0, 23)}…` : name)
/** More would be a tangle. The table below has all. */
const MOST_BANDS = 8

function bandsOf(payments: readonly Row[]) {
  const bands = new Map<string, { from: string; to: string; dq: string; units: number }>()
  for (const { payer_owner, payee_owner, dq, amount } of payments) {
    const [from, to] = [String(payer_owner), String(payee_owner)]
    const key = `${from} ${to} ${dq}`
    bands.set(key, { from, to, dq: String(dq), units: (bands.get(key)?.units ?? 0) + Number(amount) })
  }
  return [...bands.values()].sort((a, b) => b.units - a.units).slice(0, MOST_BANDS)
}
