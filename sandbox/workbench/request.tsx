import { useState } from 'preact/hooks'
import type { Entry, JournalMessage } from '../../src/sandbox/onion/entry.js'
import { call, whyNot } from './api.js'
import { Explained } from './explained.js'
import { Copy, pretty, Time } from './parts.js'
import { isOffer } from './sales.js'
import { act, entries, go, linkTo, nameOf, tell } from './state.js'
import { isRefused } from './stories.js'

/** One request: why it was refused, both messages, what it caused, and what to do with it. */
export function RequestDetail({ entry }: { entry: Entry }) {
  const [difference, setDifference] = useState<Difference>()
  return (
    <section class="detail" aria-label="Request">
      <p class="acts">
        <a class="quiet" href={linkTo('live')} aria-label="Close the request">
          Close
        </a>
        {formats.map(([name, label]) => (
          <Copy key={name} label={label} text={() => exported(entry, name)} />
        ))}
        <button type="button" class="quiet" onClick={() => replay(entry, setDifference)}>
          Replay in a fork
        </button>
        <button type="button" class="quiet" onClick={() => rewind(entry)}>
          Rewind to before
        </button>
      </p>
      <h2>
        {entry.method} <code>{entry.path}</code>
      </h2>
      <p class={isRefused(entry) ? 'status bad' : 'status good'}>
        {entry.status ?? 'no answer'} {entry.code} · {entry.operation_id ?? 'no operation'} · {nameOf(entry.principal)}{' '}
        · {entry.ms === null ? 'never ended' : `${entry.ms.toFixed(1)} ms`} · <Time at={entry.at} />
      </p>
      {entry.fault && <p class="status bad">The fault {entry.fault} changed this answer.</p>}
      {(isRefused(entry) || isOffer(entry)) && <Explained id={entry.id} />}
      {difference && <Compared difference={difference} />}
      {entry.caused_by && (
        <p>
          Caused by <a href={linkTo('live', entry.caused_by)}>{entry.caused_by}</a>.
        </p>
      )}
      {entry.caused.length > 0 && (
        <p>
          Caused{' '}
          {entry.caused.map(({ kind, id }, at) => (
            <>
              {at > 0 && ', '}
              <Effect kind={kind} id={id} />
            </>
          ))}
          .
        </p>
      )}
      <Shown title="Request" message={entry.request} />
      <Shown title="Answer" message={entry.response} />
    </section>
  )
}

/** Where each kind of effect is shown. */
const places: Readonly<Record<string, string>> = { movement: 'movements', event: 'events', timer: 'timers' }

const Effect = ({ kind, id }: { kind: string; id: string | number }) => {
  const table = places[kind]
  if (table) return <a href={linkTo('data', table, id)}>{`${kind} ${id}`}</a>
  return <a href={kind === 'entry' ? linkTo('live', id) : linkTo('inbox')}>{`${kind} ${id}`}</a>
}

const Shown = ({ title, message: { headers, body, cut } }: { title: string; message: JournalMessage }) => (
  <>
    <h3>{title}</h3>
    <dl class="headers">
      {Object.entries(headers).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
    {body && (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
      <pre tabIndex={0}>
        <code>{pretty(body)}</code>
      </pre>
    )}
    {cut && <p class="muted">The journal keeps only the beginning of it.</p>}
  </>
)

interface Difference {
  readonly status: readonly [was: number | null, is: number | null]
  readonly diff: readonly { readonly path: string; readonly was: unknown; readonly is: unknown }[]
}

async function replay(entry: Entry, show: (difference: Difference) => void): Promise<void> {
  const answer = await call('POST', `_sandbox/requests/${entry.id}/replay`, { body: { in: 'fork' } })
  if (!answer.ok) return tell(whyNot(answer), true)
  show({ status: [entry.status, answer.body.entry.status], diff: answer.body.diff })
  tell('Replayed in a fork. The state here is as it was.')
}

const Compared = ({ difference: { status, diff } }: { difference: Difference }) => (
  <div class="why" role="note">
    <p>
      <strong>{diff.length === 0 ? 'The replay answered the same' : 'The replay answered differently'}</strong>:{' '}
      {status[0] ?? 'no answer'} then, {status[1] ?? 'no answer'} now.
    </p>
    {diff.length > 0 && (
      <table>
        <thead>
          <tr>
            <th scope="col">Where</th>
            <th scope="col">Then</th>
            <th scope="col">Now</th>
          </tr>
        </thead>
        <tbody>
          {diff.map(({ path, was, is }) => (
            <tr key={path}>
              <th scope="row">{path}</th>
              <td>{JSON.stringify(was)}</td>
              <td>{JSON.stringify(is)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    )}
  </div>
)

/** The state after the request that came before. */
async function rewind(entry: Entry): Promise<void> {
  const before = entries.value[entries.value.findIndex(({ id }) => id === entry.id) + 1]
  if (!before) return tell('The journal shows nothing before this request.', true)
  await act(
    `The state is as it was before ${entry.method} ${entry.path}.`,
    call('POST', '_sandbox/rewind', { body: { to: before.id } }),
  )
  go('live')
}

const formats = [
  ['curl', 'curl'],
  ['http', 'HTTP'],
  ['har', 'HAR'],
  ['vitest', 'Vitest'],
] as const

async function exported({ id }: Entry, as: string): Promise<string> {
  const answer = await call('GET', `_sandbox/requests/${id}?as=${as}`)
  if (!answer.ok) throw new Error(whyNot(answer))
  return typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body, null, 2)
}
