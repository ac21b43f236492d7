import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { call, headersAs, type Row } from './api.js'
import { Scrolls, Time } from './parts.js'
import { actAs } from './row-actions.js'
import { money, revision } from './state.js'

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
        <Scrolls>
          <table>
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">Event</th>
                <th scope="col">Outcome</th>
                <th scope="col">Tries</th>
                <th scope="col">Next try</th>
                <th scope="col">
                  <span class="unseen">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
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
                    <button type="button" class="quiet" onClick={() => resend(each.id)}>
                      Resend
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scrolls>
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
              <button type="button" class="quiet" onClick={() => revoke(hash)}>
                Revoke
              </button>
            ) : (
              <span class="tag">revoked</span>
            )}
          </li>
        ))}
      </ul>
    </>
  )
}
