import { computed, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Credentials } from '../../src/sandbox/controls/seed/credentials.js'
import { call, tokenOf } from './api.js'
import { FailureDetail, FailureList, failuresIn } from './failures.js'
import { Button, Code, Empty, Search, Time } from './parts.js'
import { RequestDetail } from './request.js'
import { act, entries, linkTo, parts, readEntry } from './state.js'
import { isRefused, type Story, storiesOf } from './stories.js'

const query = signal('')
const onlyRefused = signal(false)

const stories = computed(() => {
  const text = query.value.toLowerCase()
  return storiesOf(entries.value).filter(
    (story) =>
      (!onlyRefused.value || story.isRefused) &&
      (text === '' || JSON.stringify([story.who, story.steps]).toLowerCase().includes(text)),
  )
})

const failures = computed(() => failuresIn(entries.value))

/** What happens, as stories, and beside them what fails. A request or an error that the address names is open instead. */
export function Live() {
  const [, open, key] = parts.value
  const isError = open === 'errors'
  const entry = entries.value.find(({ id }) => id === open)
  const failure = isError ? failures.value.find((each) => each.key === key) : undefined
  useEffect(() => {
    if (open !== undefined && !isError && !entry) readEntry(open)
  }, [open])
  if (entries.value.length === 0) return <FirstSteps />
  const isOpen = entry !== undefined || failure !== undefined
  return (
    <div class={isOpen ? 'split open' : failures.value.length > 0 ? 'split beside' : 'split'}>
      <section aria-label="Stories">
        <p class="filters">
          <Search label="Search in the stories" query={query} />
          <label>
            <input
              type="checkbox"
              checked={onlyRefused.value}
              onChange={({ currentTarget }) => (onlyRefused.value = currentTarget.checked)}
            />{' '}
            Only refused
          </label>
          <Button onClick={() => (entries.value = [])}>Clear</Button>
        </p>
        {stories.value.length === 0 && <p class="muted">Nothing fits.</p>}
        <ol class="stories">
          {stories.value.slice(0, MOST_SHOWN).map((story) => (
            <StoryRow key={story.id} story={story} open={open} />
          ))}
        </ol>
      </section>
      {entry && <RequestDetail key={entry.id} entry={entry} />}
      {failure && <FailureDetail key={failure.key} failure={failure} />}
      {!isOpen && failures.value.length > 0 && <FailureList failures={failures.value} />}
    </div>
  )
}

const MOST_SHOWN = 60
/** Of a story that goes on and on, the last. */
const MOST_STEPS = 24

const StoryRow = ({
  story: { who, at, steps, isRefused: hasRefusal },
  open,
}: {
  story: Story
  open: string | undefined
}) => (
  <li class={hasRefusal ? 'story refused' : 'story'}>
    <p class="who">
      <strong>{who}</strong> <Time at={at} />
    </p>
    <p class="steps">
      {steps.length > MOST_STEPS && <span class="muted">{steps.length - MOST_STEPS} earlier → </span>}
      {steps.slice(-MOST_STEPS).map(({ entry, text, times }, at) => {
        const id = entry.id.split('#')[0] ?? ''
        const isEffect = id !== entry.id
        const state = isEffect ? 'effect' : isRefused(entry) ? 'bad' : 'good'
        return (
          <>
            {at > 0 && (
              <span aria-hidden="true" class="arrow">
                →
              </span>
            )}
            <a
              class={`step ${state}`}
              href={linkTo('live', id)}
              aria-current={!isEffect && id === open ? 'true' : undefined}
            >
              {text}
              {state === 'bad' && ` ${entry.code ?? entry.status ?? 'no answer'}`}
              {times > 1 && ` ×${times}`}
            </a>
          </>
        )
      })}
    </p>
  </li>
)

/** Pays for the first article that is for sale as a seeded person, in the way that any client does. */
async function payOnce(): Promise<void> {
  const [{ body: known }, { body: sold }] = await Promise.all([
    call('GET', '_sandbox/credentials'),
    call('GET', '_sandbox/rows/commodities?limit=20'),
  ])
  const { users }: Credentials = known
  const [person] = users
  const [article] = sold.rows
  const token = person && (await tokenOf('user', person))
  if (!token || !article) return void act('', Promise.resolve(nothingToPay))
  await act(
    `Paid for ${article.descriptor}.`,
    call('POST', `v4/payment/${article.id}`, {
      body: {},
      headers: { authorization: `Bearer ${token}` },
      isShown: true,
    }),
  )
}

const nothingToPay = {
  ok: false,
  status: 404,
  id: null,
  body: { error: 'Nobody can pay yet: the seed needs a user with a balance and a commodity. Add them under Data.' },
}

const FirstSteps = () => (
  <Empty title="Nothing has happened yet">
    <p>
      Every request to this sandbox appears here, as a story. Make one from your terminal, or let a seeded reader pay:
    </p>
    <Code>{`curl ${new URL('v4/dq', document.baseURI).href}`}</Code>
    <p>
      <Button kind="primary" onClick={payOnce}>
        Pay as a reader
      </Button>
    </p>
  </Empty>
)
