import { call } from './api.js'
import { openForm } from './data-actions.js'
import { act, type Due, faults, forks, go, health, names, next, snapshots, tell } from './state.js'
import { viewNames } from './views.js'

/** What ⌘K offers. */
export interface Command {
  readonly title: string
  readonly run: () => unknown
}

export const advance = (by: string) =>
  act(`The clock is ${by} ahead.`, call('POST', '_sandbox/clock', { body: { advance: by } }))

/** Sets the clock to when the next work is due, which then runs. */
export const advanceTo = ({ at, kind }: Due) =>
  act(`Done: ${wordsOf(kind)}.`, call('POST', '_sandbox/clock', { body: { set: at } }))

/** `approval_expires` becomes “approval expires”. */
export const wordsOf = (kind: string): string => kind.replace(/_/g, ' ')

/** Whether there is something to advance to. What is due already runs by itself. */
export const isAheadOfClock = (due: Due | null): due is Due => due !== null && due.at > (health.value?.clock.now ?? '')

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
