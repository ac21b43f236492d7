import { useEffect, useState } from 'preact/hooks'
import type { MicroPayments } from '../../src/market/embeds/browser/element.client.js'
import { Bar, type Outcome, Reset } from './bar.js'
import { Notice } from './notice.js'
import { Phone } from './phone.js'
import { type Refused, Shop } from './shop.js'
import { type Shown, useDemo } from './state.js'
import { Toast } from './toast.js'

/** The whole page: the shop, the reader's phone beside it, and what acts on both below. */
export function App({ payments, first }: { payments: MicroPayments; first: Shown }) {
  const demo = useDemo(first)
  const { shown, version, epoch } = demo
  const [refused, setRefused] = useState<Refused>()
  const [outcome, setOutcome] = useState<Outcome>({})
  const reset = async () => {
    const refused = await demo.reset()
    setOutcome(refused === undefined ? { said: 'Everything is as at first.' } : { refused })
  }

  useEffect(() => {
    document.addEventListener('payment', async ({ detail }) => {
      const why = await demo.unlock(detail)
      setRefused(why === undefined ? undefined : { hash: detail.hash, why })
    })
  }, [])
  useEffect(() => setRefused(undefined), [epoch])

  return (
    <>
      <div class="desk">
        {shown.hasShop ? (
          <Shop key={epoch} payments={payments} bought={shown.bought} refused={refused} version={version} />
        ) : (
          <Notice
            title="This state has no such shop in it"
            text="It was saved from a sandbox that was not begun with the demo. Reset brings the shop back."
          >
            <p class="acts">
              <Reset onConfirm={reset} />
            </p>
          </Notice>
        )}
        <Phone mails={shown.mails} version={version} />
      </div>
      <Bar demo={demo} outcome={outcome} onReset={reset} onOutcome={setOutcome} />
      <Toast mails={shown.mails} />
    </>
  )
}
