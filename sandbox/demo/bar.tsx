import { useEffect, useRef, useState } from 'preact/hooks'
import { at } from './ask.js'
import type { Demo } from './state.js'

/** How something ended: what to say of it, or why it was refused. */
export interface Outcome {
  readonly said?: string
  readonly refused?: string | undefined
}

interface BarProps {
  readonly demo: Demo
  readonly outcome: Outcome
  readonly onReset: () => void
  readonly onOutcome: (outcome: Outcome) => void
}

/** What acts on the whole: reset, save and open; and what runs where. */
export function Bar({ demo, outcome, onReset, onOutcome }: BarProps) {
  const open = async (input: HTMLInputElement) => {
    const [file] = input.files ?? []
    if (!file) return
    const why = await demo.open(file)
    // The same file may be opened again.
    input.value = ''
    onOutcome(
      why === undefined
        ? { said: `Opened ${file.name}.` }
        : { refused: `${file.name} was not opened, and nothing changed. ${why}` },
    )
  }
  return (
    <footer class="bar">
      <p role="status">{outcome.said}</p>
      <p role="alert">{outcome.refused}</p>
      <Where />
      <div class="acts">
        <Reset onConfirm={onReset} />
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

function Where() {
  const [isOnline, setOnline] = useState(navigator.onLine)
  useEffect(() => {
    for (const name of ['online', 'offline']) addEventListener(name, () => setOnline(navigator.onLine))
  }, [])
  return (
    <p class="where small">
      Everything here runs in this page's service worker; nothing leaves this device.{' '}
      <strong>{isOnline ? 'The device is online.' : 'The device is offline.'}</strong>
    </p>
  )
}

/** A button that asks first. */
export function Reset({ onConfirm }: { onConfirm: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const close = () => dialog.current?.close()
  return (
    <>
      <button type="button" onClick={() => dialog.current?.showModal()}>
        Reset
      </button>
      <dialog ref={dialog} aria-label="Begin again?">
        <h2>Begin again?</h2>
        <p>Every payment, mail and sign-in on this device is forgotten. Save this state first to come back to it.</p>
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

/** Downloads the state as the service gives it, byte for byte. */
async function save(): Promise<Outcome> {
  const answer = await fetch(at('pay/_sandbox/snapshot'), { cache: 'no-store' }).catch(() => undefined)
  if (!answer?.ok) return { refused: 'The state could not be read, so nothing was saved. Load this page again.' }
  const link = document.createElement('a')
  link.href = URL.createObjectURL(await answer.blob())
  link.download = `daily-farthing-${new Date().toISOString().slice(0, 10)}.json`
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
  return { said: `Saved as ${link.download}.` }
}
