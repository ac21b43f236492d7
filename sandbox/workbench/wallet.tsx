import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type Row, readRows } from './api.js'
import { Scrolls, Time } from './parts.js'
import { linkTo, moneyOfUnits, revision } from './state.js'

/** A wallet's movements, each as two entries that cancel, and its balance over time. */
export function Wallet({ twin }: { twin: Row }) {
  const entries = useSignal<readonly Row[]>([])
  const balances = useSignal<readonly Row[]>([])
  useEffect(() => {
    const asked = { field: 'twin_id', value: String(twin.id), limit: '100' }
    readRows('entries', asked).then(({ rows }) => (entries.value = rows))
    readRows('balances', asked).then(({ rows }) => (balances.value = rows))
  }, [revision.value])
  return (
    <>
      <h3>Balance</h3>
      {balances.value.map(({ id, amount, dq }) => (
        <p key={String(id)} class="digits">
          {moneyOfUnits(amount, dq)}
        </p>
      ))}
      <Curve entries={entries.value} now={Number(balances.value[0]?.amount ?? 0)} />
      <h3>Movements, newest first</h3>
      <Scrolls>
        <table>
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">Movement</th>
              <th scope="col">This wallet</th>
              <th scope="col">The other</th>
              <th scope="col">Sum</th>
            </tr>
          </thead>
          <tbody>
            {entries.value.map(({ id, at, movement_id, amount, counterpart_twin_id, dq }) => (
              <tr key={String(id)}>
                <td>
                  <Time at={Number(at)} />
                </td>
                <td>
                  <a href={linkTo('data', 'movements', String(movement_id))}>{String(movement_id)}</a>
                </td>
                <td class="amount">{moneyOfUnits(amount, dq)}</td>
                <td class="amount">
                  <a href={linkTo('data', 'twins', String(counterpart_twin_id))}>{moneyOfUnits(-Number(amount), dq)}</a>
                </td>
                <td class="amount">0</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolls>
    </>
  )
}

const WIDTH = 600
const HEIGHT = 90

/** The balance after each entry, drawn backwards from what it is now. */
function Curve({ entries, now }: { entries: readonly Row[]; now: number }) {
  if (entries.length < 2) return null
  let balance = now
  const points = entries.map(({ at, amount }) => {
    const point = [Number(at), balance] as const
    balance -= Number(amount)
    return point
  })
  const times = points.map(([at]) => at)
  const [from, to] = [Math.min(...times), Math.max(...times)]
  const most = Math.max(...points.map(([, each]) => each), 1)
  const x = (at: number) => (to === from ? WIDTH : ((at - from) / (to - from)) * WIDTH)
  const y = (each: number) => HEIGHT - (each / most) * (HEIGHT - 6) - 3
  const path = points
    .toReversed()
    .map(([at, each], n) => (n === 0 ? `M${x(at)} ${y(each)}` : `H${x(at)}V${y(each)}`))
    .join('')
  return (
    <svg
      class="curve"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label="The balance over time"
      preserveAspectRatio="none"
    >
      <path d={path} />
    </svg>
  )
}
