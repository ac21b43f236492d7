import { useEffect, useState } from 'preact/hooks'
import type { ExampleCall, Explanation } from '../../src/sandbox/explain/facts/explanation.js'
import type { Entry, JournalMessage } from '../../src/sandbox/onion/entry.js'
import type { Difference } from '../../src/sandbox/replay/difference.js'
import { type Answer, call, headersAs, whyNot } from './api.js'
import { Button, Copy, pretty, QuietLink, Time } from './parts.js'
import { act, entries, go, linkTo, nameOf, tell } from './state.js'
import { isOffer, isRefused } from './stories.js'

/** One request: why it was refused, both messages, what it caused, and what to do with it. */
export function RequestDetail({ entry }: { entry: Entry }) {
  const [difference, setDifference] = useState<ReplayedAnswers>()
  return (
    <section class="detail" aria-label="Request">
      <p class="acts">
        <QuietLink href={linkTo('live')} aria-label="Close the request">
          Close
        </QuietLink>
        {formats.map(([name, label]) => (
          <Copy key={name} label={label} text={() => exported(entry, name)} />
        ))}
        <Button onClick={() => replay(entry, setDifference)}>Replay in a fork</Button>
        <Button onClick={() => rewind(entry)}>Rewind to before</Button>
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

interface ReplayedAnswers {
  readonly status: readonly [was: number | null, is: number | null]
  readonly diff: readonly Difference[]
}

async function replay(entry: Entry, show: (difference: ReplayedAnswers) => void): Promise<void> {
  const answer = await call('POST', `_sandbox/requests/${entry.id}/replay`, { body: { in: 'fork' } })
  if (!answer.ok) return tell(whyNot(answer), true)
  show({ status: [entry.status, answer.body.entry.status], diff: answer.body.diff })
  tell('Replayed in a fork. The state here is as it was.')
}

const Compared = ({ difference: { status, diff } }: { difference: ReplayedAnswers }) => (
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

/** Why a request was refused, and the call that fixes it. */
export function Explained({ id }: { id: string }) {
  const [why, setWhy] = useState<Explanation>()
  useEffect(() => {
    call('GET', `_sandbox/requests/${id}/explain`).then(({ ok, body }) => ok && setWhy(body))
  }, [id])
  return why ? <Why why={why} /> : null
}

const Why = ({ why }: { why: Explanation }) => (
  <div class="why" role="note">
    <p>
      <strong>{why.verdict}</strong>
    </p>
    {why.sentences.map((sentence) => (
      <p key={sentence}>{sentence}</p>
    ))}
    <p class="acts">
      {why.fix && (
        <Button kind="primary" onClick={() => why.fix && fix(why.fix)}>
          Fix it
        </Button>
      )}
      <a href={why.docs}>About this error</a>
    </p>
    {why.fix && (
      <p class="muted small">
        Fix it sends <code>{`${why.fix.example.method} ${why.fix.example.path}`}</code>
        {why.fix.next && (
          <>
            , then <code>{`${why.fix.next.method} ${why.fix.next.path}`}</code>
          </>
        )}
        .
      </p>
    )}
  </div>
)

/** Sends the call of an explanation, and what comes next. */
async function fix({ example, next }: NonNullable<Explanation['fix']>): Promise<void> {
  const first = await sendAs(example)
  if (!first.ok || !next) return void act('Fixed.', Promise.resolve(first))
  await act('Fixed, and the request went through.', sendAs(next))
}

/** Sends a call as the caller that it names. Controls need nobody. */
async function sendAs({ method, path, as, headers, body }: ExampleCall): Promise<Answer> {
  const named = as === undefined ? {} : await headersAs(as, as.startsWith('user:') ? 'session' : undefined)
  return call(method, path, {
    ...(body !== undefined && { body }),
    headers: { ...headers, ...named },
    isShown: true,
  })
}
