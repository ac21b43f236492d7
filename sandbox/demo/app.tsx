import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { MicroPayments } from '../../src/market/embeds/browser/element.client.js'
import { demo } from '../seed/demo.js'
import { Phone, Toast } from './phone.js'
import { type RefusedPayment, Shop } from './shop.js'
import { type DemoView, useDemo } from './state.js'
import { type Outcome, ResetButton, Toolbar } from './toolbar.js'

/** The whole page: the shop, the reader's phone next to it, and the toolbar below. */
export function App({ payments, first }: { payments: MicroPayments; first: DemoView }) {
  const demo = useDemo(first)
  const { shown, version, epoch } = demo
  const [refused, setRefused] = useState<RefusedPayment>()
  const [outcome, setOutcome] = useState<Outcome>({})
  const reset = async () => {
    const refused = await demo.reset()
    setOutcome(refused === undefined ? { said: 'The shop is reset.' } : { refused })
  }

  useEffect(() => {
    document.addEventListener('payment', async ({ detail }) => {
      const why = await demo.unlock(detail)
      setRefused(why === undefined ? undefined : { hash: detail.hash, why })
    })
  }, [])
  useEffect(() => setRefused(undefined), [epoch])
  if (demo.outdated !== undefined) return <Outdated why={demo.outdated} />

  return (
    <>
      <div class="desk">
        {shown.hasShop ? (
          <Shop key={epoch} payments={payments} bought={shown.bought} refused={refused} version={version} />
        ) : (
          <Notice
            title="This state has no shop"
            text="It comes from a sandbox that started without the demo. Reset to get the shop back."
          >
            <p class="acts">
              <ResetButton onConfirm={reset} />
            </p>
          </Notice>
        )}
        <Phone mails={shown.mails} version={version} />
      </div>
      <Toolbar demo={demo} outcome={outcome} onReset={reset} onOutcome={setOutcome} />
      <Toast mails={shown.mails} />
    </>
  )
}

/** Shown instead of the shop. */
export const Notice = ({ title, text, children }: { title: string; text: string; children?: ComponentChildren }) => (
  <main class="notice">
    <p class="name">{demo.account.name}</p>
    <h1>{title}</h1>
    <p role="status">{text}</p>
    {children}
  </main>
)

/** Shown once a newer version of the page has changed the stored state. */
export const Outdated = ({ why }: { why: string }) => (
  <Notice title="A newer version of this shop is open" text={`Reload this page to go on. Nothing is lost. ${why}`}>
    <p class="acts">
      <button type="button" onClick={() => location.reload()}>
        Reload
      </button>
    </p>
  </Notice>
)
