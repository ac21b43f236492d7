import { computed, signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import type { ShownRequest } from '../../src/consent/second-factor/request.js'
import type { InboxMessage } from '../../src/sandbox/controls/people-controls.js'
import { call, readRows } from './api.js'
import { openForm } from './data-actions.js'
import { Button, Copy, Empty, Search, Select, Time } from './parts.js'
import { act, messages, nameOf, names, parts } from './state.js'

const query = signal('')

const shown = computed(() => {
  const [, to] = parts.value
  const text = query.value.toLowerCase()
  return messages.value.filter(
    (message) =>
      (to === undefined || message.to === to) &&
      `${message.to} ${message.subject} ${message.text}`.toLowerCase().includes(text),
  )
})

/** Every mail and push for every person, and their phones. */
export function Inbox() {
  return (
    <>
      <section aria-label="Phones">
        <h2>Phones</h2>
        <Phones />
      </section>
      <section aria-label="Messages">
        <h2>Messages</h2>
        {messages.value.length === 0 ? (
          <Empty title="No messages yet">
            <p>
              A sandbox sends no mail. What it would send appears here: codes, links, receipts, pushes and webhooks.
            </p>
          </Empty>
        ) : (
          <>
            <p class="filters">
              <Search label="Search in the messages" query={query} />
              <Button onClick={() => act('The inbox is empty.', call('DELETE', '_sandbox/outbox'))}>
                Empty the inbox
              </Button>
            </p>
            <ul class="mails">
              {shown.value.map((message) => (
                <Message key={message.id} message={message} />
              ))}
            </ul>
          </>
        )}
      </section>
    </>
  )
}

const Message = ({
  message: { kind, to, subject, text, status, codes, links, created_at },
}: {
  message: InboxMessage
}) => (
  <li>
    <p class="who">
      <span class="tag">{kind}</span> <strong>{to}</strong> <Time at={created_at * 1000} />
      {status !== 'sent' && <span class="tag bad">{status}</span>}
    </p>
    <p>{subject}</p>
    {codes.map((code) => (
      <p class="code" key={code}>
        <span class="digits">{code}</span> <Copy text={code} />
      </p>
    ))}
    {links.map((link) => (
      <p key={link}>
        <a href={link}>{link}</a>
      </p>
    ))}
    <details>
      <summary>Text</summary>
      <p class="text">{text}</p>
    </details>
  </li>
)

interface Phone {
  readonly user_id: number
  readonly mode: string
  readonly has_device: boolean
  readonly requests: readonly Pick<ShownRequest, 'id' | 'action' | 'detail'>[]
}

/** What a phone asks, such as `paywall: payee: Shop, amount: 1.5 USD`. */
function requestSentence({ action, detail }: Pick<ShownRequest, 'action' | 'detail'>): string {
  const parts = Object.entries(detail).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return `${name.replaceAll('_', ' ')}: ${text}`
  })
  return `${action.replaceAll('_', ' ')}: ${parts.join(', ')}`
}

const modes = [
  ['manual', 'By hand'],
  ['approve', 'Always approve'],
  ['reject', 'Always reject'],
  ['ignore', 'Never answer'],
] as const

/** The phones of the first people, side by side. */
function Phones() {
  const users = [...names.value].filter(([principal]) => principal.startsWith('user:')).slice(0, 8)
  if (users.length === 0)
    return (
      <p class="acts muted">
        There are no people yet.
        <Button kind="plain" onClick={() => (openForm.value = 'person')}>
          New person
        </Button>
      </p>
    )
  return (
    <ul class="phones">
      {users.map(([principal]) => (
        <PhoneCard key={principal} userId={Number(principal.slice('user:'.length))} />
      ))}
    </ul>
  )
}

function PhoneCard({ userId }: { userId: number }) {
  const [phone, setPhone] = useState<Phone>()
  const [approvals, setApprovals] = useState<readonly { id: string; summary: string }[]>([])
  const read = async () => {
    const [{ ok, body }, { rows }] = await Promise.all([
      call('GET', `_sandbox/devices/${userId}`),
      readRows('approvals', { field: 'user_id', value: String(userId), limit: '20' }),
    ])
    if (ok) setPhone(body)
    setApprovals(
      rows
        .filter(({ status }) => status === 'pending')
        .map(({ id, summary, kind }) => ({ id: String(id), summary: String(summary ?? kind ?? 'An agent asks') })),
    )
  }
  const say = (done: string, path: string, body: object) => act(done, call('POST', path, { body })).then(read)
  // What arrives for a phone is a message, too.
  useEffect(() => void read(), [messages.value.length])
  const place = `_sandbox/devices/${userId}`
  return (
    <li class="phone">
      <h3>{nameOf(`user:${userId}`)}</h3>
      {phone && (
        <Select
          label="Answers"
          is="field"
          value={phone.has_device ? phone.mode : ''}
          values={phone.has_device ? modes : [['', 'No phone'], ...modes]}
          onChange={(mode) => say('The phone is set.', place, { mode })}
        />
      )}
      {phone?.requests.map(({ id, ...asked }) => (
        <Question
          key={id}
          text={requestSentence(asked)}
          onAnswer={(verb) => say(`${verb === 'approve' ? 'Approved' : 'Rejected'}.`, `${place}/${verb}`, { id })}
        />
      ))}
      {approvals.map(({ id, summary }) => (
        <Question
          key={id}
          text={summary}
          onAnswer={(verb) =>
            say(`${verb === 'approve' ? 'Approved' : 'Rejected'}.`, `_sandbox/approvals/${id}/${verb}`, {})
          }
        />
      ))}
      {phone && phone.requests.length + approvals.length === 0 && <p class="muted small">Nothing to answer.</p>}
    </li>
  )
}

const Question = ({ text, onAnswer }: { text: string; onAnswer: (verb: 'approve' | 'reject') => void }) => (
  <div class="question">
    <p>{text}</p>
    <p class="acts">
      <Button kind="plain" onClick={() => onAnswer('reject')}>
        Reject
      </Button>
      <Button kind="primary" onClick={() => onAnswer('approve')}>
        Approve
      </Button>
    </p>
  </div>
)
