import { useState } from 'preact/hooks'
import type { InboxMessage } from '../../src/sandbox/controls/people-controls.js'

/** What the phones show of a message in the outbox. */
export type Mail = Pick<InboxMessage, 'id' | 'to' | 'subject' | 'text' | 'codes' | 'created_at'>

/** A list of mails, newest first. Mail to anybody but `owner` shows its recipient. */
export const Mails = ({ mails, owner }: { mails: readonly Mail[]; owner: string }) => (
  <ul class="mails" aria-label="Mail">
    {mails.map((mail) => (
      <li key={mail.id}>
        <MailText mail={mail} owner={owner} />
      </li>
    ))}
    {mails.length === 0 && (
      <li class="empty muted">
        No mail yet. Sign in as <code>{owner}</code> to get a sign-in code here.
      </li>
    )}
  </ul>
)

const MailText = ({ mail: { to, subject, text, codes, created_at }, owner }: { mail: Mail; owner: string }) => (
  <>
    <From name="farthing" at={created_at} />
    {to !== owner && <p class="muted small">To {to}</p>}
    {codes[0] === undefined ? <p>{subject}</p> : <Code code={codes[0]} />}
    <p class="muted small">{text.split('\n')[0]}</p>
  </>
)

/** The sender and the time of a message. `at` is in Unix seconds. */
export const From = ({ name, at, id }: { name: string; at: number; id?: string }) => (
  <p class="from">
    <strong id={id}>{name}</strong>
    <time class="muted small" dateTime={new Date(at * 1000).toISOString()}>
      {new Date(at * 1000).toLocaleTimeString(undefined, { timeStyle: 'short' })}
    </time>
  </p>
)

export const Code = ({ code }: { code: string }) => (
  <p class="code">
    <span class="digits">{code}</span> <CopyButton text={code} what="code" />
  </p>
)

/** Copies a text to the clipboard, if the browser allows it, and confirms it. */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => {
        setCopied(true)
        setTimeout(() => setCopied(false), 2000)
      },
      () => {},
    )
  return (
    <button type="button" class="copy" onClick={copy}>
      {isCopied ? 'Copied' : 'Copy'} <span class="unseen">{what}</span>
    </button>
  )
}
