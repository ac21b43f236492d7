import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { required } from '../../src/base/required.js'
import { Coin } from '../../src/http/pages/parts.js'
import { address, call } from './api.js'
import { Break } from './break.js'
import {
  advance,
  advanceTo,
  fork,
  isAheadOfClock,
  isOpen,
  Palette,
  reset,
  rewindTo,
  save,
  setMode,
  wordsOf,
} from './commands.js'
import { Connect } from './connect.js'
import { Data } from './data.js'
import { OpenForm } from './data-actions.js'
import { Inbox } from './inbox.js'
import { Live } from './live.js'
import { Button, Copy, Time } from './parts.js'
import { Rehearse } from './rehearse.js'
import {
  act,
  faults,
  follow,
  health,
  ledger,
  linkTo,
  messages,
  money,
  next,
  said,
  snapshots,
  trouble,
  view,
} from './state.js'
import { States } from './states.js'
import { Try } from './try.js'
import { type View, viewNames, views } from './views.js'

const shown: Readonly<Record<View, () => preact.JSX.Element>> = {
  live: Live,
  inbox: Inbox,
  data: Data,
  states: States,
  try: Try,
  break: Break,
  rehearse: Rehearse,
  connect: Connect,
}

/** The workbench: what is always visible, and one view. */
export function App() {
  useEffect(() => {
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  // On a narrow page the views scroll.
  useEffect(() => {
    for (const link of document.querySelectorAll('nav [aria-current]'))
      link.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [view.value])
  const Shown = shown[view.value]
  return (
    <>
      <header class="bar">
        <p class="brand">
          <Coin /> farthing <span class="muted small">{health.value?.version}</span>
        </p>
        <Address />
        <Light />
        <Clock />
        <StateActions />
      </header>
      <nav class="views" aria-label="Views">
        {viewNames.map((name) => (
          <a key={name} href={linkTo(name)} aria-current={name === view.value ? 'page' : undefined}>
            {views[name]}
            {name === 'inbox' && messages.value.length > 0 && <span class="count">{messages.value.length}</span>}
            {name === 'break' && faults.value.length > 0 && <span class="count bad">{faults.value.length} armed</span>}
          </a>
        ))}
        <Button onClick={() => (isOpen.value = true)}>
          Commands <kbd>⌘K</kbd>
        </Button>
      </nav>
      {trouble.value && <p role="alert">{trouble.value}</p>}
      <main>
        <h1 class="unseen">{views[view.value]}</h1>
        <Shown />
      </main>
      <p role="status" class={said.value?.isError ? 'said bad' : 'said'}>
        {said.value?.text}
      </p>
      <OpenForm />
      <Palette />
    </>
  )
}

const Address = () => (
  <p class="address">
    <code>{address}</code> <Copy text={address} />
  </p>
)

const Light = () => {
  const audit = ledger.value
  if (!audit) return <p class="light">…</p>
  const issued = audit.digital_quantities.map(({ dq, issued }) => money(issued, dq)).join(', ')
  return audit.ok ? (
    <p class="light good">
      <span aria-hidden="true">●</span> balanced, {issued} issued
    </p>
  ) : (
    <p class="light bad">
      <span aria-hidden="true">●</span> not balanced: {JSON.stringify(audit.broken)}
    </p>
  )
}

const Clock = () => {
  const clock = health.value?.clock
  if (!clock) return null
  const isManual = clock.mode === 'manual'
  return (
    <p class="clock">
      <time dateTime={clock.now}>{clock.now.slice(0, 16).replace('T', ' ')}</time>{' '}
      {isManual && <span class="tag bad">frozen</span>}
      <Button onClick={() => setMode(isManual ? 'real' : 'manual')}>{isManual ? 'Run' : 'Freeze'}</Button>
      <Button onClick={() => advance('15m')}>+15 min</Button>
      <Button onClick={() => advance('1d')}>+1 d</Button>
      <NextDue />
    </p>
  )
}

/** What is due next, and a button that advances to it. */
const NextDue = () => {
  const due = next.value
  if (!isAheadOfClock(due)) return null
  return (
    <Button kind="quiet next" title={`${due.kind} ${due.subject}`} onClick={() => advanceTo(due)}>
      Next: {wordsOf(due.kind)} <Time at={due.at} />
    </Button>
  )
}

const StateActions = () => (
  <p class="states">
    <Button onClick={() => save()}>Save</Button>
    {snapshots.value.length > 0 && (
      <select
        aria-label="Rewind to"
        value=""
        onChange={({ currentTarget }) => {
          if (currentTarget.value) rewindTo(currentTarget.value)
          currentTarget.value = ''
        }}
      >
        <option value="">Rewind to…</option>
        {snapshots.value.toReversed().map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    )}
    <Button onClick={fork}>Fork</Button>
    <Button onClick={reset}>Reset</Button>
    {faults.value.length > 0 && (
      <Button kind="tag bad" onClick={() => act('No fault is armed.', call('DELETE', '_sandbox/faults'))}>
        {faults.value.length} {faults.value.length === 1 ? 'fault' : 'faults'} ✕
      </Button>
    )}
  </p>
)

function onKey(event: KeyboardEvent): void {
  const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea, select')
  if ((event.metaKey || event.ctrlKey) && event.key === 'k') {
    event.preventDefault()
    isOpen.value = !isOpen.value
  } else if (event.key === '/' && !isTyping) {
    const search = document.getElementById('search')
    if (search) {
      event.preventDefault()
      search.focus()
    }
  } else if (event.key === 'Escape' && view.value === 'live' && !isTyping) location.hash = linkTo('live')
}

const root = required(document.getElementById('app'), 'The element #app')
root.replaceChildren()
render(<App />, root)
void follow()
