import { useEffect, useRef, useState } from 'preact/hooks'
import { Coin } from '../../src/http/pages/parts.js'
import { Code, CopyButton, type Mail, Mails } from '../phone/mails.js'
import { demo } from '../seed/demo.js'
import type { Wallet, WalletRecord } from './back-end.js'
import { type ChannelMessage, channelName, sendRequest, urlOf } from './requests.js'

const { reader } = demo
const tabs = ['Mail', 'Wallet'] as const
type Tab = (typeof tabs)[number]

export function Phone({ mails, version }: { mails: readonly Mail[]; version: string }) {
  const [tab, setTab] = useState<Tab>('Mail')
  return (
    <aside class="phone" aria-labelledby="phone-title">
      <header>
        <Coin />
        <h2 id="phone-title">{reader.name}'s phone</h2>
        <p class="small">
          <code>{reader.email}</code> <CopyButton text={reader.email} what="address" />
        </p>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <div class="screen" id="screen" role="tabpanel" aria-labelledby={`tab-${tab}`} tabIndex={0}>
        {tab === 'Mail' ? <Mails mails={mails} owner={reader.email} /> : <WalletTab version={version} />}
      </div>
      <Tabs shown={tab} onShow={setTab} />
    </aside>
  )
}

function Tabs({ shown, onShow }: { shown: Tab; onShow: (tab: Tab) => void }) {
  const list = useRef<HTMLDivElement>(null)
  const move = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (step === undefined) return
    const next = (tabs.indexOf(shown) + step + tabs.length) % tabs.length
    const tab = tabs[next]
    if (tab) onShow(tab)
    list.current?.querySelectorAll('button')[next]?.focus()
  }
  return (
    <div class="tabs" role="tablist" aria-label={`On ${reader.name}'s phone`} ref={list} onKeyDown={move}>
      {tabs.map((tab) => (
        <button
          type="button"
          role="tab"
          id={`tab-${tab}`}
          aria-selected={tab === shown}
          aria-controls="screen"
          tabIndex={tab === shown ? 0 : -1}
          onClick={() => onShow(tab)}
        >
          {tab}
        </button>
      ))}
    </div>
  )
}

function WalletTab({ version }: { version: string }) {
  const wallet = useWallet('phone/wallet', true, version)
  return <section aria-label="Wallet">{wallet && <WalletRecords purse={wallet} />}</section>
}

const VISIBLE_MS = 60_000

/**
 * The phone's notification of a mail. It is a popover, to appear above the payment element's frame, which covers the page during a
 * sign-in. It hides once the user has typed the code, because nobody can pay with a covered button.
 */
export function Toast({ mails }: { mails: readonly Mail[] }) {
  const place = useRef<HTMLDivElement>(null)
  const known = useRef(mails[0]?.id ?? 0)
  const newest = mails[0]
  const hide = () => place.current?.matches(':popover-open') && place.current.hidePopover()

  useEffect(() => {
    const isNew = newest !== undefined && newest.id > known.current
    known.current = newest?.id ?? 0
    if (!isNew) return
    hide()
    place.current?.showPopover?.()
    const timer = setTimeout(hide, VISIBLE_MS)
    return () => clearTimeout(timer)
  }, [newest?.id])
  useEffect(() => document.addEventListener('payment', hide), [])
  useEffect(() => {
    const channel = new BroadcastChannel(channelName(urlOf('')))
    channel.onmessage = ({ data }: MessageEvent<ChannelMessage>) => data === 'code' && hide()
    return () => channel.close()
  }, [])

  return (
    <div class="toast" popover="manual" ref={place} role="status">
      <p class="from">
        <strong>Mail on {demo.reader.name}'s phone</strong>
        <button type="button" class="copy" onClick={hide}>
          Dismiss
        </button>
      </p>
      {newest?.codes[0] === undefined ? <p>{newest?.subject}</p> : <Code code={newest.codes[0]} />}
    </div>
  )
}

/** Reads a wallet, but only while the user sees it, because each read creates an access token. */
export function useWallet(path: string, isLookedAt: boolean, version: string): Wallet | { error: string } | undefined {
  const [purse, setPurse] = useState<Wallet | { error: string }>()
  useEffect(() => {
    let isCurrent = true
    if (isLookedAt) sendRequest('GET', path).then(({ body }) => isCurrent && setPurse(body))
    return () => void (isCurrent = false)
  }, [path, isLookedAt, version])
  return purse
}

export function WalletRecords({ purse }: { purse: Wallet | { error: string } }) {
  if ('error' in purse) return <p class="muted small">{purse.error}</p>
  const { balance, entries } = purse
  return (
    <>
      <p class="balance">
        <span class="muted small">Balance</span> {balance}
      </p>
      <ul class="records" aria-label="Payments">
        {entries.map((entry) => (
          <Record entry={entry} />
        ))}
        {entries.length === 0 && <li class="muted small">No payments yet.</li>}
      </ul>
    </>
  )
}

const Record = ({ entry: { at, action, amount, other } }: { entry: WalletRecord }) => (
  <li>
    <span class="what">
      {action === 'send' ? 'Sent to' : 'Received from'} <span class="who">{shortName(other)}</span>
    </span>
    <span class="amount">
      {action === 'send' ? '−' : '+'}
      {amount}
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
