import { signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { DueWork } from '../../src/sandbox/controls/sandbox.js'
import { call } from './api.js'
import { openForm } from './data-actions.js'
import { act, faults, forks, go, health, names, next, snapshots, tell } from './state.js'
import { viewNames } from './views.js'

/** What ⌘K offers. */
interface Command {
  readonly title: string
  readonly run: () => unknown
}

export const advance = (by: string) =>
  act(`The clock is ${by} ahead.`, call('POST', '_sandbox/clock', { body: { advance: by } }))

/** Sets the clock to when the next work is due, which then runs. */
export const advanceTo = ({ at, kind }: DueWork) =>
  act(`Done: ${wordsOf(kind)}.`, call('POST', '_sandbox/clock', { body: { set: at } }))

/** `approval_expires` becomes “approval expires”. */
export const wordsOf = (kind: string): string => kind.replace(/_/g, ' ')

/** Whether there is something to advance to. What is due already runs by itself. */
export const isAheadOfClock = (due: DueWork | null): due is DueWork =>
  due !== null && due.at > (health.value?.clock.now ?? '')

export const setMode = (mode: 'real' | 'manual') =>
  act(
    mode === 'manual' ? 'The clock stands still.' : 'The clock runs.',
    call('POST', '_sandbox/clock', { body: { mode } }),
  )

export async function fork(): Promise<void> {
  const made = await act('The fork is open in a new tab.', call('POST', '_sandbox/forks'))
  if (made) open(`${made.url}/`)
}

/** Saved states are named after the time at which they were saved. */
export const save = (name = `state-${new Date().toISOString().slice(11, 19).replace(/:/g, '-')}`) =>
  act(`Saved as ${name}.`, call('POST', '_sandbox/snapshots', { body: { name } }))

export const rewindTo = (to: string) =>
  act(`The state is ${to} again.`, call('POST', '_sandbox/rewind', { body: { to } }))

/** A reset can be taken back: the state before it is saved. */
export async function reset(): Promise<void> {
  const name = `before-reset-${Date.now()}`
  if (!(await call('POST', '_sandbox/snapshots', { body: { name } })).ok)
    return tell('Cannot save the state first.', true)
  await act(`Reset to the seed. The state before it is saved as ${name}.`, call('POST', '_sandbox/reset', { body: {} }))
}

export const commands = (): readonly Command[] => [
  ...viewNames.map((view) => ({
    title: `Go to ${view}`,
    run: () => go(view),
  })),
  { title: 'Fund somebody', run: () => (openForm.value = 'fund') },
  { title: 'New person', run: () => (openForm.value = 'person') },
  { title: 'New article', run: () => (openForm.value = 'article') },
  { title: 'Sign in as somebody', run: () => (openForm.value = 'sign-in') },
  { title: 'Advance the clock by 15 minutes', run: () => advance('15m') },
  { title: 'Advance the clock by a day', run: () => advance('1d') },
  ...(isAheadOfClock(next.value)
    ? [
        {
          title: `Advance to what is due next: ${wordsOf(next.value.kind)}`,
          run: () => next.value && advanceTo(next.value),
        },
      ]
    : []),
  { title: 'Compare states', run: () => go('states') },
  { title: 'Stop the clock', run: () => setMode('manual') },
  { title: 'Let the clock run', run: () => setMode('real') },
  { title: 'Save the state', run: () => save() },
  { title: 'Fork the sandbox', run: fork },
  { title: 'Reset to the seed', run: reset },
  ...(faults.value.length > 0
    ? [{ title: 'Disarm all faults', run: () => act('No fault is armed.', call('DELETE', '_sandbox/faults')) }]
    : []),
  ...snapshots.value.map(({ name }) => ({ title: `Rewind to ${name}`, run: () => rewindTo(name) })),
  ...forks.value.map(({ id, url }) => ({ title: `Open ${id}`, run: () => open(`${url}/`) })),
  ...[...names.value].map(([principal, name]) => {
    const [kind = '', id = ''] = principal.split(':')
    return { title: `${name} (${kind})`, run: () => go('data', `${kind}s`, id) }
  }),
]

export const isOpen = signal(false)

const MOST_SHOWN = 12

/** ⌘K: everything that can be done, by typing a part of its name. */
export function Palette() {
  return isOpen.value ? <Open /> : null
}

function Open() {
  const query = useSignal('')
  const at = useSignal(0)
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => element.current?.showModal(), [])
  const close = () => (isOpen.value = false)
  const words = query.value.toLowerCase().split(/\s+/)
  const found = commands()
    .filter(({ title }) => words.every((word) => title.toLowerCase().includes(word)))
    .slice(0, MOST_SHOWN)
  const run = (n: number) => {
    close()
    found[n]?.run()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      at.value = (at.value + step + found.length) % Math.max(found.length, 1)
    }
    if (event.key === 'Enter') {
      event.preventDefault()
      run(at.value)
    }
  }
  return (
    <dialog ref={element} class="palette" onClose={close} aria-label="Commands">
      <input
        type="text"
        role="combobox"
        aria-label="Command"
        aria-expanded="true"
        aria-controls="commands"
        aria-activedescendant={`command-${at.value}`}
        placeholder="What do you want to do?"
        onInput={({ currentTarget }) => {
          query.value = currentTarget.value
          at.value = 0
        }}
        onKeyDown={onKeyDown}
      />
      <div id="commands" role="listbox" aria-label="Commands">
        {found.map(({ title }, n) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the text field takes the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the same
          <div key={title} id={`command-${n}`} role="option" aria-selected={n === at.value} onClick={() => run(n)}>
            {title}
          </div>
        ))}
      </div>
    </dialog>
  )
}
