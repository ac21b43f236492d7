import { useEffect, useState } from 'preact/hooks'
import type { Wallet, WalletRecord } from './back-end.js'
import { sendRequest } from './requests.js'

/** Reads a wallet, but only while the user sees it, because each read creates an access token. */
export function useWallet(path: string, isLookedAt: boolean, version: string): Wallet | { error: string } | undefined {
  const [purse, setPurse] = useState<Wallet | { error: string }>()
  useEffect(() => {
    let isCurrent = true
    if (isLookedAt) sendRequest('GET', path).then(({ body }) => isCurrent && setPurse(body))
    return () => {
      isCurrent = false
    }
  }, [path, isLookedAt, version])
  return purse
}

/** Balance and payments. */
export function WalletRecords({ purse }: { purse: Wallet | { error: string } }) {
  if ('error' in purse) return <p class="muted small">{purse.error}</p>
  const { balance, unit, entries } = purse
  return (
    <>
      <p class="balance">
        <span class="muted small">Balance</span> {balance.toFixed(2)} {unit}
      </p>
      <ul class="records" aria-label="Payments">
        {entries.map((entry) => (
          <Record entry={entry} unit={unit} />
        ))}
        {entries.length === 0 && <li class="muted small">No payments yet.</li>}
      </ul>
    </>
  )
}

const Record = ({ entry: { at, action, amount, other }, unit }: { entry: WalletRecord; unit: string }) => (
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

/** Shortens a hostname: drops the domain that all share, and cuts generated names, which are long numbers. */
const shortName = (hostname: string): string => {
  const name = hostname.replace(/\.twin\.localhost$/, '')
  return /^[0-9a-f]{32,}$/.test(name) ? `${name.slice(0, 8)}…` : name
}
