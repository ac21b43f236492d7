import type { Entry } from '../../src/sandbox/onion/entry.js'
import { QuietLink, Table, Time } from './parts.js'
import { Explained } from './request.js'
import { linkTo, nameOf } from './state.js'
import { isRefused } from './stories.js'

/** Refused requests of one caller that failed in the same way: one cause, however often it happened. */
interface Failure {
  /** Names it in an address. */
  readonly key: string
  readonly code: string
  readonly operation: string
  readonly principal: string | null
  /** Newest first. Never empty. */
  readonly entries: readonly Entry[]
}

const operationOf = ({ operation_id, method, path }: Entry): string => operation_id ?? `${method} ${path.split('?')[0]}`
const codeOf = ({ code, status }: Entry): string => code ?? (status === null ? 'no answer' : String(status))

/** Groups the refused among entries, which are newest first. The failure that happened last comes first. */
export function failuresIn(entries: readonly Entry[]): readonly Failure[] {
  const groups = new Map<string, Entry[]>()
  for (const entry of entries) {
    if (!isRefused(entry)) continue
    const key = [codeOf(entry), operationOf(entry), entry.principal ?? 'guest'].join(' ')
    const group = groups.get(key)
    if (group) group.push(entry)
    else groups.set(key, [entry])
  }
  return [...groups].flatMap(([key, group]) => {
    const [last] = group
    if (!last) return []
    return [{ key, code: codeOf(last), operation: operationOf(last), principal: last.principal, entries: group }]
  })
}

const MOST_SHOWN = 30

const linkToFailure = (key: string) => linkTo('live', 'errors', key)

/** What fails, each cause once, with how often and since when. */
export const FailureList = ({ failures }: { failures: readonly Failure[] }) => (
  <section aria-label="Errors" class="failures">
    <h2>
      Errors <span class="count">{failures.length}</span>
    </h2>
    <ol>
      {failures.slice(0, MOST_SHOWN).map(({ key, code, operation, principal, entries }) => (
        <li key={key}>
          <a href={linkToFailure(key)}>
            <span class="row">
              <strong>{code}</strong>
              <span class="count bad">×{entries.length}</span>
            </span>
            <span class="row muted small">
              <span>
                {operation} · {callerName(principal)}
              </span>
              <Time at={entries[0]?.at ?? 0} />
            </span>
          </a>
        </li>
      ))}
    </ol>
    {failures.length > MOST_SHOWN && <p class="muted small">And {failures.length - MOST_SHOWN} more.</p>}
  </section>
)

const callerName = (principal: string | null): string => (principal === null ? 'a guest' : nameOf(principal))

/** One cause: the explanation of its last request, and all of its requests. */
export function FailureDetail({ failure: { code, operation, principal, entries } }: { failure: Failure }) {
  const [last, first] = [entries[0], entries.at(-1)]
  if (!last || !first) return null
  return (
    <section class="detail" aria-label="Error">
      <p class="acts">
        <QuietLink href={linkTo('live')} aria-label="Close the error">
          Close
        </QuietLink>
      </p>
      <h2>
        {code} <span class="count bad">×{entries.length}</span>
      </h2>
      <p class="status muted">
        {operation} · {callerName(principal)}
      </p>
      <p class="status muted">
        first <Time at={first.at} />, last <Time at={last.at} />
      </p>
      <Explained id={last.id} />
      <h3>Requests</h3>
      <Table columns={['When', 'Request', 'Status']}>
        {entries.slice(0, MOST_SHOWN).map(({ id, at, method, path, status }) => (
          <tr key={id}>
            <td>
              <Time at={at} />
            </td>
            <td>
              <a href={linkTo('live', id)}>{`${method} ${path.split('?')[0]}`}</a>
            </td>
            <td>{status ?? 'none'}</td>
          </tr>
        ))}
      </Table>
      {entries.length > MOST_SHOWN && <p class="muted small">And {entries.length - MOST_SHOWN} earlier ones.</p>}
    </section>
  )
}
