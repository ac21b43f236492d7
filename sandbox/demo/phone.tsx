import { useRef, useState } from 'preact/hooks'
import { CopyButton } from '../phone/copy.js'
import { type Mail, Mails } from '../phone/mails.js'
import { demo } from '../seed/demo.js'
import { useWallet, WalletRecords } from './wallet.js'

const { reader } = demo
const tabs = ['Mail', 'Wallet'] as const
type Tab = (typeof tabs)[number]

/** The reader's phone, with the mail from the service and a wallet. */
export function Phone({ mails, version }: { mails: readonly Mail[]; version: string }) {
  const [tab, setTab] = useState<Tab>('Mail')
  return (
    <aside class="phone" aria-labelledby="phone-title">
      <header>
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
