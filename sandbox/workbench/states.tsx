import { signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { ComparedRows, Comparison } from '../../src/sandbox/controls/snapshot.js'
import { call, type Row, readRows, whyNot } from './api.js'
import { fork, rewindTo, save } from './commands.js'
import { Button, Empty, QuietLink, Select, Table, Time } from './parts.js'
import { act, forks, go, linkTo, money, nameOf, parts, snapshots, tell } from './state.js'
import { tables, titleOf } from './tables.js'

/** The state of this moment, as the comparison names it. */
const NOW = 'current'

/** Saved states and forks: return to one, or see what differs between two. */
export function States() {
  const [, was, is] = parts.value
  return (
    <>
      <section aria-label="Saved states">
        <h2>Saved states</h2>
        <p class="acts">
          <Button kind="plain" onClick={() => save()}>
            Save this state
          </Button>
        </p>
        {snapshots.value.length === 0 ? (
          <Empty title="No state is saved yet">
            <p>Save the state before you try something. Then compare it with what came of it, or return to it.</p>
          </Empty>
        ) : (
          <>
            <SavedTable />
            <Choice was={was} is={is} />
          </>
        )}
      </section>
      {was !== undefined && is !== undefined && snapshots.value.length > 0 && (
        <Compared key={`${was} ${is}`} was={was} is={is} />
      )}
      <section aria-label="Forks">
        <h2>Forks</h2>
        <p class="muted">
          A fork is a sandbox of its own with the same state. What happens in it changes nothing here.
        </p>
        <p class="acts">
          <Button kind="plain" onClick={fork}>
            Fork this state
          </Button>
        </p>
        <ul class="plain">
          {forks.value.map(({ id, url }) => (
            <li key={id} class="acts">
              <a href={`${url}/`}>{id}</a>
              <Button onClick={() => act(`${id} is closed.`, call('DELETE', `_sandbox/forks/${id}`))}>Close</Button>
            </li>
          ))}
        </ul>
      </section>
    </>
  )
}

const SavedTable = () => (
  <Table columns={['Name', 'Saved at', { title: 'Rows', is: 'amount' }, { title: 'Actions', is: 'unseen' }]}>
    {snapshots.value.toReversed().map(({ name, at, rows }) => (
      <tr key={name}>
        <th scope="row">{name}</th>
        <td>
          <Time at={at} />
        </td>
        <td class="amount">{rows}</td>
        <td class="acts">
          <QuietLink href={linkTo('states', name, NOW)}>Compare with now</QuietLink>
          <Button onClick={() => rewindTo(name)}>Rewind</Button>
          <Button
            aria-label={`Delete ${name}`}
            onClick={() => act(`${name} is deleted.`, call('DELETE', `_sandbox/snapshots/${encodeURIComponent(name)}`))}
          >
            Delete
          </Button>
        </td>
      </tr>
    ))}
  </Table>
)

/** The two states to compare. The address holds them. */
function Choice({ was, is }: { was: string | undefined; is: string | undefined }) {
  const newest = snapshots.value.at(-1)?.name ?? NOW
  const [a, b] = [was ?? newest, is ?? NOW]
  const values = [[NOW, 'now'], ...snapshots.value.toReversed().map(({ name }) => [name, name])] as [string, string][]
  return (
    <p class="filters">
      <Select label="Compare" is="inline" value={a} values={values} onChange={(name) => go('states', name, b)} />
      <Select label="with" is="inline" value={b} values={values} onChange={(name) => go('states', a, name)} />
      {was === undefined && <QuietLink href={linkTo('states', a, b)}>Compare</QuietLink>}
    </p>
  )
}

const nameOfState = (name: string) => (name === NOW ? 'now' : name)
/** What people look for comes first. */
const placeOf = (collection: string): number => {
  const at = Object.keys(tables).indexOf(collection)
  return at === -1 ? Number.MAX_SAFE_INTEGER : at
}
const isOpen = signal<ReadonlySet<string>>(new Set())

function Compared({ was, is }: { was: string; is: string }) {
  const found = useSignal<Comparison | undefined>(undefined)
  /** By hostname. */
  const owners = useSignal<ReadonlyMap<string, string>>(new Map())
  useEffect(() => {
    call('GET', `_sandbox/snapshots/${encodeURIComponent(was)}/compare/${encodeURIComponent(is)}`).then((answer) => {
      if (answer.ok) found.value = answer.body
      else tell(whyNot(answer), true)
    })
    readRows('twins', { limit: '100' }).then(({ rows }) => {
      owners.value = new Map(rows.map(({ hostname, owner }) => [String(hostname), nameOf(String(owner))]))
    })
  }, [])
  const title = `From ${nameOfState(was)} to ${nameOfState(is)}`
  if (!found.value) return <p class="muted">Comparing…</p>
  const { rows, balances } = found.value
  const collections = Object.entries(rows).sort(([a], [b]) => placeOf(a) - placeOf(b))
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {collections.length === 0 && <p class="muted">Nothing differs.</p>}
      {balances.length > 0 && (
        <>
          <h3>Balances</h3>
          <Table
            columns={[
              'Wallet',
              { title: 'Was', is: 'amount' },
              { title: 'Is', is: 'amount' },
              { title: 'Change', is: 'amount' },
            ]}
          >
            {balances.map(({ hostname, dq, was: before, is: after }) => (
              <tr key={`${hostname} ${dq}`}>
                <th scope="row">
                  {owners.value.get(hostname)} <span class="muted small">{hostname}</span>
                </th>
                <td class="amount">{money(before, dq)}</td>
                <td class="amount">{money(after, dq)}</td>
                <td class={after < before ? 'amount bad' : 'amount good'}>
                  {after < before ? '' : '+'}
                  {money(Number((after - before).toFixed(9)), dq)}
                </td>
              </tr>
            ))}
          </Table>
        </>
      )}
      {collections.map(([name, changes]) => (
        <Changes key={name} name={name} changes={changes} />
      ))}
    </section>
  )
}

const Changes = ({ name, changes: { added, removed, changed, more } }: { name: string; changes: ComparedRows }) => (
  <details
    class="changes"
    open={isOpen.value.has(name)}
    onToggle={({ currentTarget }) => {
      const open = new Set(isOpen.value)
      if (currentTarget.open) open.add(name)
      else open.delete(name)
      isOpen.value = open
    }}
  >
    <summary>
      <strong>{titleOf(name)}</strong>
      {added.length > 0 && <span class="good"> +{added.length}</span>}
      {removed.length > 0 && <span class="bad"> −{removed.length}</span>}
      {changed.length > 0 && <span> ~{changed.length}</span>}
      {more > 0 && <span class="muted"> and {more} more</span>}
    </summary>
    {isOpen.value.has(name) && (
      <ul class="plain">
        {changed.map(({ was, is }) => (
          <li key={String(is.id)}>
            <a href={linkTo('data', name, String(is.id))}>{shortId(is)}</a>{' '}
            {fieldsThatDiffer(was, is).map((field) => (
              <span key={field} class="change">
                {field}: <del>{shown(was[field])}</del> <ins>{shown(is[field])}</ins>
              </span>
            ))}
          </li>
        ))}
        {added.map((row) => (
          <li key={String(row.id)}>
            <ins>added</ins> <a href={linkTo('data', name, String(row.id))}>{shortId(row)}</a> <Brief row={row} />
          </li>
        ))}
        {removed.map((row) => (
          <li key={String(row.id)}>
            <del>removed</del> {shortId(row)} <Brief row={row} />
          </li>
        ))}
      </ul>
    )}
  </details>
)

const shortId = ({ id }: Row): string => (String(id).length > 24 ? `${String(id).slice(0, 20)}…` : String(id))
const telling = ['descriptor', 'email', 'name', 'hostname', 'kind', 'type', 'status', 'amount', 'subject', 'url']

/** The fields that tell rows apart. */
const Brief = ({ row }: { row: Row }) => (
  <span class="muted">
    {telling
      .filter((field) => row[field] !== undefined && row[field] !== null)
      .map((field) => `${field} ${shown(row[field])}`)
      .join(', ')}
  </span>
)

const fieldsThatDiffer = (was: Row, is: Row): string[] =>
  [...new Set([...Object.keys(was), ...Object.keys(is)])].filter(
    (field) => JSON.stringify(was[field]) !== JSON.stringify(is[field]),
  )

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'none')
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}
