import { useEffect, useRef, useState } from 'preact/hooks'
import { urlOf } from './requests.js'
import type { Demo } from './state.js'

/** The result of an action: a sentence to show, or why it was refused. */
export interface Outcome {
  readonly said?: string
  readonly refused?: string | undefined
}

interface ToolbarProps {
  readonly demo: Demo
  readonly outcome: Outcome
  readonly onReset: () => void
  readonly onOutcome: (outcome: Outcome) => void
}

/** Buttons to reset, save and open the state, and a note on where everything runs. */
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

/** A button that asks for confirmation. */
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

/** Downloads the service's snapshot unchanged. */
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
