import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Coin } from '../../src/http/pages/parts.js'
import type { MicroPayments } from '../../src/market/embeds/browser/element.client.js'
import { demo } from '../seed/demo.js'
import { Phone, Toast } from './phone.js'
import { urlOf } from './requests.js'
import { type RefusedPayment, Shop } from './shop.js'
import { type Demo, type DemoView, useDemo } from './state.js'

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

export const Notice = ({ title, text, children }: { title: string; text: string; children?: ComponentChildren }) => (
  <main class="notice">
    <Coin />
    <p class="name">{demo.account.name}</p>
    <h1>{title}</h1>
    <p role="status">{text}</p>
    {children}
  </main>
)

export const Outdated = ({ why }: { why: string }) => (
  <Notice title="A newer version of this shop is open" text={`Reload this page to go on. Nothing is lost. ${why}`}>
    <p class="acts">
      <button type="button" onClick={() => location.reload()}>
        Reload
      </button>
    </p>
  </Notice>
)

export type Outcome = { readonly said?: string; readonly refused?: string | undefined }

interface ToolbarProps {
  readonly demo: Demo
  readonly outcome: Outcome
  readonly onReset: () => void
  readonly onOutcome: (outcome: Outcome) => void
}

export function Toolbar({ demo, outcome, onReset, onOutcome }: ToolbarProps) {
  const open = async (input: HTMLInputElement) => {
    const [file] = input.files ?? []
    if (!file) return
    const why = await demo.open(file)
    // Otherwise the browser sends no event if the user picks the same file again.
    input.value = ''
    onOutcome(
      why === undefined
        ? { said: `Opened ${file.name}.` }
        : { refused: `Could not open ${file.name}. Nothing changed. ${why}` },
    )
  }
  return (
    <footer class="bar">
      <p role="status">{outcome.said}</p>
      <p role="alert">{outcome.refused}</p>
      <RuntimeNote />
      <div class="acts">
        <a class="button" href="workbench.html">
          Workbench
        </a>
        <ResetButton onConfirm={onReset} />
        <button type="button" onClick={async () => onOutcome(await save())}>
          Save this state
        </button>
        <label class="button">
          <input type="file" accept=".json,application/json" onChange={({ currentTarget }) => open(currentTarget)} />
          Open a state…
        </label>
      </div>
    </footer>
  )
}

function RuntimeNote() {
  const [isOnline, setOnline] = useState(navigator.onLine)
  useEffect(() => {
    for (const name of ['online', 'offline']) addEventListener(name, () => setOnline(navigator.onLine))
  }, [])
  return (
    <p class="where small">
      Everything runs in this page's service worker. Nothing leaves this device.{' '}
      <strong>{isOnline ? 'The device is online.' : 'The device is offline.'}</strong>
    </p>
  )
}

export function ResetButton({ onConfirm }: { onConfirm: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const close = () => dialog.current?.close()
  return (
    <>
      <button type="button" onClick={() => dialog.current?.showModal()}>
        Reset
      </button>
      <dialog ref={dialog} aria-label="Reset everything?">
        <h2>Reset everything?</h2>
        <p>This deletes every payment, mail and sign-in on this device. Save this state first to come back to it.</p>
        <p class="acts">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button
            type="button"
            class="primary"
            onClick={() => {
              close()
              onConfirm()
            }}
          >
            Reset everything
          </button>
        </p>
      </dialog>
    </>
  )
}

async function save(): Promise<Outcome> {
  const answer = await fetch(urlOf('pay/_sandbox/snapshot'), { cache: 'no-store' }).catch(() => undefined)
  if (!answer?.ok) return { refused: 'Could not read the state, so nothing was saved. Reload this page.' }
  const link = document.createElement('a')
  link.href = URL.createObjectURL(await answer.blob())
  link.download = `daily-farthing-${new Date().toISOString().slice(0, 10)}.json`
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
  return { said: `Saved as ${link.download}.` }
}
