import { required } from '../../src/base/required.js'

/** Shows the latest messages of the outbox, if the reader of this page may see them. */

type Message = { to: string; subject: string; codes: string[]; created_at: number }

const section = required(document.getElementById('outbox'), 'The element #outbox')
const list = required(section.querySelector('ul'), 'The list of #outbox')
const closed = required(document.getElementById('outbox-closed'), 'The element #outbox-closed')
let shown = ''

async function refresh(): Promise<void> {
  const answer = await fetch('/_sandbox/outbox?limit=5').catch(() => undefined)
  if (answer?.status === 403) section.hidden = closed.hidden = false
  if (!answer?.ok) return
  closed.hidden = true
  const text = await answer.text()
  if (text === shown) return
  shown = text
  // The sandbox that made this page answers.
  const { messages } = JSON.parse(text) as { messages: Message[] }
  list.replaceChildren(...messages.map(row))
  section.hidden = messages.length === 0
}

function row({ to, subject, codes, created_at }: Message): HTMLElement {
  const item = document.createElement('li')
  item.append(
    part('to', to),
    part('code', codes[0] ?? subject),
    part('muted small', new Date(created_at * 1000).toLocaleTimeString()),
  )
  return item
}

const part = (className: string, textContent: string): HTMLElement =>
  Object.assign(document.createElement('span'), { className, textContent })

setInterval(() => document.hidden || refresh(), 2000)
void refresh()
