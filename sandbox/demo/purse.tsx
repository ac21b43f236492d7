import { useEffect, useState } from 'preact/hooks'
import { send } from './ask.js'
import type { Entry, Purse } from './back-end.js'

/** A wallet, read while it is looked at: each reading takes a token, which is a write. */
export function usePurse(path: string, isLookedAt: boolean, version: string): Purse | { error: string } | undefined {
  const [purse, setPurse] = useState<Purse | { error: string }>()
  useEffect(() => {
    let isCurrent = true
    if (isLookedAt) send('GET', path).then(({ body }) => isCurrent && setPurse(body))
    return () => {
      isCurrent = false
    }
  }, [path, isLookedAt, version])
  return purse
}

/** Balance and binder. */
export function Records({ purse }: { purse: Purse | { error: string } }) {
  if ('error' in purse) return <p class="muted small">{purse.error}</p>
  const { balance, unit, entries } = purse
  return (
    <>
      <p class="balance">
        <span class="muted small">Balance</span> {balance.toFixed(2)} {unit}
      </p>
      <ul class="records" aria-label="Binder">
        {entries.map((entry) => (
          <Record entry={entry} unit={unit} />
        ))}
        {entries.length === 0 && <li class="muted small">Nothing was sent or received yet.</li>}
      </ul>
    </>
  )
}

const Record = ({ entry: { at, action, amount, other }, unit }: { entry: Entry; unit: string }) => (
  <li>
    <span class="what">
      {action === 'send' ? 'Sent to' : 'Received from'} <span class="who">{shortName(other)}</span>
    </span>
    <span class="amount">
      {action === 'send' ? '−' : '+'}
      {amount.toFixed(2)} <span class="unseen">{unit}</span>
    </span>
    <time class="muted small" dateTime={at}>
      {new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })}
    </time>
  </li>
)

/** Hostnames without the domain that they all end in; those that nobody chose are long numbers. */
const shortName = (hostname: string): string => {
  const name = hostname.replace(/\.twin\.localhost$/, '')
  return /^[0-9a-f]{32,}$/.test(name) ? `${name.slice(0, 8)}…` : name
}
