import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { call, headersAs, type Row, readRows } from './api.js'
import { Button, Copy, Table, Time } from './parts.js'
import { actAs } from './row-actions.js'
import { linkTo, money, moneyOfUnits, nameOf, quantities, revision } from './state.js'

/** What belongs to a row and has no table of its own. */

/** Reads a list as somebody, and again whenever something has happened. */
function useListOf<T>(principal: string, path: string, name: string) {
  const rows = useSignal<readonly T[] | undefined>(undefined)
  const read = async () => {
    const { ok, body } = await call('GET', path, { headers: await headersAs(principal) })
    if (ok) rows.value = body[name]
  }
  useEffect(() => void read(), [path, revision.value])
  return rows.value
}

interface Delivery {
  readonly id: number
  readonly type: string
  readonly status: 'pending' | 'succeeded' | 'failed' | 'cancelled'
  readonly tries: readonly { readonly at: number; readonly status: number | null; readonly error: string | null }[]
  readonly next_try_at: number | null
  readonly created_at: number
}

const outcomes = { pending: 'muted', succeeded: 'good', failed: 'bad', cancelled: 'muted' } as const

/** The deliveries of a webhook, with every try. */
export function Deliveries({ webhook: { id, account_id } }: { webhook: Row }) {
  const owner = `account:${account_id}`
  const deliveries = useListOf<Delivery>(owner, `v4/webhooks/${id}/deliveries?limit=50`, 'deliveries')
  const resend = (delivery: number) =>
    actAs(owner, 'It is sent again.', ['POST', `v4/webhooks/${id}/deliveries/${delivery}/redeliver`])
  return (
    <>
      <h3>Deliveries, newest first</h3>
      {deliveries?.length === 0 && <p class="muted">None yet. Send a test, or do something that it listens for.</p>}
      {deliveries && deliveries.length > 0 && (
        <Table columns={['When', 'Event', 'Outcome', 'Tries', 'Next try', { title: 'Actions', is: 'unseen' }]}>
          {deliveries.map((each) => (
            <tr key={each.id}>
              <td>
                <Time at={each.created_at * 1000} />
              </td>
              <th scope="row">{each.type}</th>
              <td class={outcomes[each.status]}>{each.status}</td>
              <td>{each.tries.map(({ status, error }) => status ?? error ?? 'no answer').join(', ') || '–'}</td>
              <td>{each.next_try_at === null ? '–' : <Time at={each.next_try_at * 1000} />}</td>
              <td>
                <Button onClick={() => resend(each.id)}>Resend</Button>
              </td>
            </tr>
          ))}
        </Table>
      )}
    </>
  )
}

interface Delegate {
  readonly hash: string
  readonly hostname: string
  readonly name: string | null
  readonly email: string | null
  readonly spend: { readonly limit: number; readonly dq: string; readonly period: string | null } | null
  readonly revoked_at: number | null
  readonly created_at: number
}

/** Who may act for a persona. */
export function Delegates({ persona: { id, owner } }: { persona: Row }) {
  const delegates = useListOf<Delegate>(String(owner), `v4/persona/${id}/delegates?limit=50`, 'delegates')
  const revoke = (hash: string) =>
    actAs(String(owner), 'Revoked. It can no longer spend.', ['DELETE', `v4/persona/${id}/delegates/${hash}`])
  return (
    <>
      <h3>Delegates</h3>
      {delegates?.length === 0 && <p class="muted">Nobody acts for this persona.</p>}
      <ul class="plain">
        {delegates?.map(({ hash, hostname, name, email, spend, revoked_at, created_at }) => (
          <li key={hash} class="acts">
            <span>{name ?? email ?? hostname}</span>
            {spend && (
              <span class="muted">{`may spend ${money(spend.limit, spend.dq)}${spend.period ? ` a ${spend.period}` : ''}`}</span>
            )}
            <Time at={created_at * 1000} />
            {revoked_at === null ? (
              <Button onClick={() => revoke(hash)}>Revoke</Button>
            ) : (
              <span class="tag">revoked</span>
            )}
          </li>
        ))}
      </ul>
    </>
  )
}

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
      <Table columns={['When', 'Movement', 'This wallet', 'The other', 'Sum']}>
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
      </Table>
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
