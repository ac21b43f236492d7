import { useEffect, useRef, useState } from 'preact/hooks'
import { messageOf } from '../../src/storage/unknown.js'
import { From, type Mail, Mails } from './mails.js'

const POLL_MS = 1000

export function Screen({ owner }: { owner: Owner }) {
  const [shown, setShown] = useState<PhoneState>()
  const [said, setSaid] = useState('')
  const [refused, setRefused] = useState('')
  const last = useRef<PhoneState | null>(null)
  /** The number of calls in progress. Meanwhile the timer does not read. */
  const busy = useRef(0)
  const turns = useRef(0)
  const place = useRef<HTMLElement>(null)

  async function refresh(): Promise<void> {
    const turn = ++turns.current
    const next = await readPhone(owner)
    // An earlier read may end after a later one.
    if (turn !== turns.current) return
    const arrived = last.current && arrival(last.current, next)
    last.current = next
    setShown(next)
    if (arrived) setSaid(arrived)
  }

  async function tried(act: () => Promise<void>): Promise<void> {
    busy.current++
    try {
      await act()
      setRefused('')
    } catch (error) {
      setRefused(`The sandbox does not answer. ${messageOf(error)}`)
    } finally {
      busy.current--
    }
  }

  /** The pressed button disappears, so the focus moves to the phone. */
  const act = (what: () => Promise<string>) =>
    tried(async () => {
      const outcome = await what()
      place.current?.focus()
      await refresh()
      setSaid(outcome)
    })

  const onAnswer = (push: Push, verb: Verb) =>
    act(async () =>
      (await answer(owner, push, verb)) ? outcomes[verb] : 'This request no longer waits for an answer.',
    )

  useEffect(() => {
    const look = () => document.hidden || busy.current > 0 || tried(refresh)
    const timer = setInterval(look, POLL_MS)
    document.addEventListener('visibilitychange', look)
    look()
    return () => clearInterval(timer)
  }, [])

  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <section class="screen" aria-label="Screen" tabIndex={0} ref={place}>
      <p role="status">{said}</p>
      <p role="alert">{refused}</p>
      {shown?.isConnected === false && <Connect onConnect={() => act(() => connect(owner).then(() => 'Connected.'))} />}
      {shown?.isConnected && shown.pushes.length === 0 && <p class="quiet muted small">No requests to answer.</p>}
      {shown && shown.pushes.length > 0 && <Pushes pushes={shown.pushes} onAnswer={onAnswer} />}
      {shown && <Mails mails={shown.mails} owner={owner.email} />}
    </section>
  )
}

const outcomes: Readonly<Record<Verb, string>> = { approve: 'Approved.', reject: 'Rejected.' }

const Connect = ({ onConnect }: { onConnect: () => void }) => (
  <div class="connect">
    <p class="small">Connect this phone to approve sign-ins by apps that use OpenID Connect.</p>
    <button type="button" class="primary" onClick={onConnect}>
      Connect this phone
    </button>
  </div>
)

function arrival(before: PhoneState, now: PhoneState): string {
  const [push] = now.pushes.filter(({ id }) => !before.pushes.some((known) => known.id === id))
  if (push) return `A request arrived. ${push.subject}.`
  const [mail] = now.mails.filter(({ id }) => !before.mails.some((known) => known.id === id))
  if (mail)
    return mail.codes[0] === undefined ? `A mail arrived. ${mail.subject}.` : `A code arrived: ${mail.codes[0]}.`
  return before.pushes.length > now.pushes.length ? 'A request no longer waits for an answer.' : ''
}

export interface Push extends Mail {
  readonly data: { readonly authentication_request_id: string }
}

export type Verb = 'approve' | 'reject'

type PushesProps = { pushes: readonly Push[]; onAnswer: (push: Push, verb: Verb) => void }

export const Pushes = ({ pushes, onAnswer }: PushesProps) => (
  <ul class="mails pushes" aria-label="Waiting for an answer">
    {pushes.map((push) => (
      <li key={push.id}>
        <From name={push.subject} at={push.created_at} id={`push-${push.id}`} />
        <div id={`asked-${push.id}`}>
          {push.text.split('\n').map((line) => (
            <p dir="auto">{line}</p>
          ))}
        </div>
        <p class="answers">
          {verbs.map(([verb, label]) => (
            <button
              type="button"
              class={verb === 'approve' ? 'primary' : ''}
              aria-describedby={`push-${push.id} asked-${push.id}`}
              onClick={() => onAnswer(push, verb)}
            >
              {label}
            </button>
          ))}
        </p>
      </li>
    ))}
  </ul>
)

const verbs = [
  ['reject', 'Reject'],
  ['approve', 'Approve'],
] as const

export type Owner = { readonly userId: string; readonly email: string }

/** The part of the service's state that the phone shows. Both lists are newest first. */
export interface PhoneState {
  readonly isConnected: boolean
  readonly mails: readonly Mail[]
  readonly pushes: readonly Push[]
}

type Message = (Mail & { readonly kind: 'mail' }) | (Push & { readonly kind: 'push' })

export async function readPhone({ userId, email }: Owner): Promise<PhoneState> {
  const [phone, outbox] = await Promise.all([
    call('GET', `/_sandbox/devices/${userId}`),
    call('GET', `/_sandbox/outbox?to=${encodeURIComponent(email)}&limit=30`),
  ])
  const messages: Message[] = outbox.messages
  const asked = new Set(phone.requests.map(({ id }: { id: number }) => String(id)))
  // A user with several devices gets one push for each.
  const waiting = new Map<string, Push>()
  for (const message of messages)
    if (message.kind === 'push' && asked.has(message.data.authentication_request_id))
      waiting.set(message.data.authentication_request_id, message)
  return {
    isConnected: phone.has_device,
    mails: messages.filter(({ kind }) => kind === 'mail').slice(0, 5),
    pushes: [...waiting.values()],
  }
}

export const connect = ({ userId }: Owner) => call('POST', `/_sandbox/devices/${userId}`, { mode: 'manual' })

/** Answers a push. Returns false if it no longer waits. */
export async function answer({ userId }: Owner, { data }: Push, verb: Verb): Promise<boolean> {
  const id = Number(data.authentication_request_id)
  const { requests } = await call('POST', `/_sandbox/devices/${userId}/${verb}`, { id })
  return requests.length > 0
}

// biome-ignore lint/suspicious/noExplicitAny: each caller knows what it asked for
async function call(method: string, path: string, body?: object): Promise<any> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(path, { method, cache: 'no-store', ...(body && { headers, body: JSON.stringify(body) }) })
  const read = await answer.json()
  if (read.code === 'sandbox_refused')
    throw new Error(
      'This sandbox asks for its control token. Open the link to the dashboard that it prints when it starts, or add ?control_token= and the token to the address of this page.',
    )
  if (!answer.ok) throw new Error(read.error)
  return read
}
