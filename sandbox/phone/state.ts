import type { Mail } from './mails.js'
import type { Push, Verb } from './screen.js'

export interface Owner {
  readonly userId: string
  readonly email: string
}

/** The part of the service's state that the phone shows. Both lists are newest first. */
export interface PhoneState {
  readonly isConnected: boolean
  readonly mails: readonly Mail[]
  /** Only pushes that wait for an answer. */
  readonly pushes: readonly Push[]
}

type Message = (Mail & { readonly kind: 'mail' }) | (Push & { readonly kind: 'push' })

/** Reads what the phone shows. Throws an `Error` if the sandbox does not answer or refuses. */
export async function readPhone({ userId, email }: Owner): Promise<PhoneState> {
  const [phone, outbox] = await Promise.all([
    call('GET', `/_sandbox/devices/${userId}`),
    call('GET', `/_sandbox/outbox?to=${encodeURIComponent(email)}&limit=30`),
  ])
  const messages: Message[] = outbox.messages
  const waiting = new Map<string, Push>()
  const asked = new Set(phone.requests.map(({ id }: { id: number }) => String(id)))
  for (const message of messages) {
    if (message.kind !== 'push') continue
    const { authentication_request_id: id } = message.data
    // A user with several devices gets one push for each.
    if (asked.has(id)) waiting.set(id, message)
  }
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
