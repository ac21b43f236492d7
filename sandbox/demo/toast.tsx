import { useEffect, useRef } from 'preact/hooks'
import { Code, type Mail } from '../phone/mails.js'
import { demo } from '../seed/demo.js'
import { type ChannelMessage, channelName } from './channel.js'
import { urlOf } from './requests.js'

/** How long the notification stays, in ms. */
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
