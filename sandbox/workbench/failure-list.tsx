import { Explained } from './explained.js'
import type { Failure } from './failures.js'
import { Scrolls, Time } from './parts.js'
import { linkTo, nameOf } from './state.js'

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
        <a class="quiet" href={linkTo('live')} aria-label="Close the error">
          Close
        </a>
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
      <Scrolls>
        <table>
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">Request</th>
              <th scope="col">Status</th>
            </tr>
          </thead>
          <tbody>
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
          </tbody>
        </table>
      </Scrolls>
      {entries.length > MOST_SHOWN && <p class="muted small">And {entries.length - MOST_SHOWN} earlier ones.</p>}
    </section>
  )
}
