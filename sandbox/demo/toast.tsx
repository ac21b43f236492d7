import { useEffect, useRef } from 'preact/hooks'
import { Code, type Mail } from '../phone/mails.js'
import { demo } from '../seed/demo.js'
import { at } from './ask.js'
import { channelName, type Told } from './channel.js'

/** How long it stays, in ms. */
const STAY = 60_000

/**
 * The phone's notification of a mail. While somebody signs in, the payment's frame covers the page:
 * this lies above it, as the later of two popovers does. It goes when the code is typed: what is covered cannot be paid.
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
    const timer = setTimeout(hide, STAY)
    return () => clearTimeout(timer)
  }, [newest?.id])
  useEffect(() => document.addEventListener('payment', hide), [])
  useEffect(() => {
    const channel = new BroadcastChannel(channelName(at('')))
    channel.onmessage = ({ data }: MessageEvent<Told>) => data === 'code' && hide()
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
