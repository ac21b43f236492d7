import { signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { call, type Row, readRows } from './api.js'
import { DataActions } from './data-actions.js'
import { Button, Copy, Empty, Search, Table } from './parts.js'
import { RowActions } from './row-actions.js'
import { Cell, Delegates, Deliveries, Wallet } from './row-parts.js'
import { go, linkTo, moneyOfUnits, nameOf, parts, revision } from './state.js'
import { tables, titleOf } from './tables.js'

interface Collection {
  readonly name: string
  readonly refs: Readonly<Record<string, string>>
}

const collections = signal<readonly Collection[]>([])
const PAGE = '50'

/** The table that an address without one opens. */
const opening = signal<string | undefined>(undefined)

/** A new sandbox has people and articles, and no payments yet: what it has comes first. */
async function firstWithRows(): Promise<string> {
  for (const each of Object.keys(tables)) if ((await readRows(each, { limit: '1' })).rows.length > 0) return each
  return 'payments'
}

/** Tables of all rows as they are stored, everything linked. */
export function Data() {
  useEffect(() => {
    call('GET', '_sandbox/rows').then(({ ok, body }) => ok && (collections.value = body.collections))
  }, [])
  const [, asked, id] = parts.value
  useEffect(() => {
    if (asked === undefined) firstWithRows().then((found) => (opening.value = found))
  }, [asked])
  const name = asked ?? opening.value
  const known = collections.value.map((each) => each.name)
  const first = Object.keys(tables).filter((each) => known.includes(each))
  return (
    <div class="data">
      <nav aria-label="Tables">
        {[first, known.filter((each) => !(each in tables)).sort()].map((group, at) => (
          <ul key={at}>
            {group.map((each) => (
              <li key={each}>
                <a href={linkTo('data', each)} aria-current={each === name ? 'page' : undefined}>
                  {titleOf(each)}
                </a>
              </li>
            ))}
          </ul>
        ))}
      </nav>
      <div>
        <DataActions />
        {name === undefined ? (
          <p class="muted">Reading…</p>
        ) : id === undefined ? (
          <Rows key={name} name={name} />
        ) : (
          <Detail key={`${name} ${id}`} name={name} id={id} />
        )}
      </div>
    </div>
  )
}

const refsOf = (name: string) => collections.value.find((each) => each.name === name)?.refs ?? {}

/** The rows of a table, page by page. */
function usePages(name: string, [field, value]: readonly [string?, string?]) {
  const rows = useSignal<readonly Row[] | undefined>(undefined)
  const next = useSignal<string | null>(null)
  /** The pages before this one, each by the cursor that it began with. */
  const before = useSignal<readonly (string | undefined)[]>([])
  const start = useSignal<string | undefined>(undefined)
  const query = useSignal('')
  const read = async (after?: string) => {
    start.value = after
    const asked = {
      limit: PAGE,
      ...(query.value && { q: query.value }),
      ...(field !== undefined && { field, value: value ?? '' }),
      ...(after !== undefined && { after }),
    }
    const page = await readRows(name, asked)
    rows.value = page.rows
    next.value = page.next
  }
  // What is new comes first. Whoever looks at older rows keeps them.
  useEffect(() => void (before.value.length === 0 && read()), [revision.value, field, value])
  return {
    rows: rows.value,
    query,
    number: before.value.length + 1,
    hasOlder: next.value !== null,
    first() {
      before.value = []
      return read()
    },
    newer() {
      const to = before.value.at(-1)
      before.value = before.value.slice(0, -1)
      return read(to)
    },
    older() {
      before.value = [...before.value, start.value]
      return read(next.value ?? undefined)
    },
  }
}

/** One table, with search and pages. The address may hold a filter: `#/data/payments?payer_twin_id=3`. */
function Rows({ name }: { name: string }) {
  const [filter = []] = [...new URLSearchParams(location.hash.split('?')[1] ?? '')] as [string?, string?][]
  const [field, value] = filter
  const pages = usePages(name, filter)
  const { rows = [], query } = pages
  const isFiltered = query.value !== '' || field !== undefined
  const hasNone = pages.rows?.length === 0
  const [first] = rows
  const columns = (tables[name]?.columns ?? Object.keys(first ?? {}).slice(0, 7)).filter(
    (column) => !first || rows.some((row) => column in row),
  )
  return (
    <section aria-label={titleOf(name)}>
      <h2>{titleOf(name)}</h2>
      {name === 'payments' && field === undefined && <Flow payments={rows} />}
      {(!hasNone || isFiltered) && (
        <form
          class="filters"
          onSubmit={(event) => {
            event.preventDefault()
            pages.first()
          }}
        >
          <Search label={`Search in ${titleOf(name)}`} query={query} />
          <button type="submit">Search</button>
          {field !== undefined && (
            <a class="tag" href={linkTo('data', name)}>
              {field} = {value} ✕
            </a>
          )}
        </form>
      )}
      {hasNone ? (
        <Empty title={`No ${titleOf(name).toLowerCase()} ${isFiltered ? 'fit' : 'yet'}`}>
          {pages.hasOlder ? (
            <p>None of the rows that were read fits. There are older ones to search.</p>
          ) : (
            !isFiltered && <p>They appear here as soon as your code makes some.</p>
          )}
        </Empty>
      ) : (
        <RowTable name={name} columns={columns} rows={rows} />
      )}
      {(pages.hasOlder || pages.number > 1) && <PageLinks {...pages} />}
    </section>
  )
}

const PageLinks = ({ number, hasOlder, newer, older }: ReturnType<typeof usePages>) => (
  <nav class="acts" aria-label="Pages">
    <Button kind="plain" disabled={number === 1} onClick={newer}>
      Newer
    </Button>
    <Button kind="plain" disabled={!hasOlder} onClick={older}>
      Older
    </Button>
    <span class="muted small">Page {number}</span>
  </nav>
)

const RowTable = ({ name, columns, rows }: { name: string; columns: readonly string[]; rows: readonly Row[] }) => (
  <Table columns={columns.map((column) => column.replace(/_/g, ' '))}>
    {rows.map((row) => (
      <tr key={String(row.id)} onClick={() => go('data', name, String(row.id))}>
        {columns.map((column, at) => (
          <td key={column} class={column === 'amount' || column === 'cost' ? 'amount' : undefined}>
            {at === 0 ? (
              <a href={linkTo('data', name, String(row.id))}>{String(row[column] ?? row.id)}</a>
            ) : (
              <Cell row={row} field={column} refs={refsOf(name)} />
            )}
          </td>
        ))}
      </tr>
    ))}
  </Table>
)

/** One row: all its fields, and the rows of other tables that refer to it. */
function Detail({ name, id }: { name: string; id: string }) {
  const row = useSignal<Row | null | undefined>(undefined)
  useEffect(() => {
    readRows(name, { field: 'id', value: id, limit: '1' }).then(({ rows }) => (row.value = rows[0] ?? null))
  }, [revision.value])
  if (row.value === undefined) return <p class="muted">Reading…</p>
  if (row.value === null)
    return (
      <Empty title="This row is not there">
        <p>It was removed, or the sandbox went back to a time before it.</p>
      </Empty>
    )
  const shown = row.value
  return (
    <section aria-label={`${titleOf(name)} ${id}`}>
      <h2>
        <a href={linkTo('data', name)}>{titleOf(name)}</a> {id}
      </h2>
      <RowActions name={name} row={shown} />
      {name === 'twins' && <Wallet twin={shown} />}
      {name === 'webhooks' && <Deliveries webhook={shown} />}
      {name === 'personas' && <Delegates persona={shown} />}
      {partly.has(name) && <h3>Row</h3>}
      <dl class="facts">
        {Object.keys(shown).map((field) => (
          <div key={field}>
            <dt>{field}</dt>
            <dd>
              <Cell row={shown} field={field} refs={refsOf(name)} isWhole />
            </dd>
          </div>
        ))}
      </dl>
      <h3>What refers to it</h3>
      <p class="acts">
        {referring(name, shown).map(({ collection, field, value }) => (
          <a
            key={`${collection} ${field}`}
            class="tag"
            href={`${linkTo('data', collection)}?${new URLSearchParams({ [field]: value })}`}
          >
            {titleOf(collection)} by {field.replace(/_/g, ' ')}
          </a>
        ))}
      </p>
      <p>
        <Copy text={JSON.stringify(shown, null, 2)} label="Copy as JSON" />
      </p>
    </section>
  )
}

/** Their rows have more than their fields. */
const partly = new Set(['twins', 'webhooks', 'personas'])

/** Where this row's id, or it as an owner, is a value. */
function referring(name: string, { id }: Row) {
  const byId = collections.value.flatMap(({ name: collection, refs }) =>
    Object.entries(refs).flatMap(([field, to]) => (to === name ? [{ collection, field, value: String(id) }] : [])),
  )
  const owner = name === 'users' ? `user:${id}` : name === 'accounts' ? `account:${id}` : undefined
  if (owner === undefined) return byId
  const byOwner = [
    ['twins', 'owner'],
    ['commodities', 'owner'],
    ['payments', 'payer_owner'],
    ['payments', 'payee_owner'],
    ['events', 'owner'],
  ].map(([collection = '', field = '']) => ({ collection, field, value: owner }))
  return [...byOwner, ...byId]
}

const ROW = 34
const WIDTH = 640
const LEFT = 200

/** Who paid whom, as bands between payers and payees that are as wide as what was paid. */
function Flow({ payments }: { payments: readonly Row[] }) {
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
