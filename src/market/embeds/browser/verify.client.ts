import { byId, finish, goButton, onAgree, onClick, show, start } from './dialog.client.js'
import { tell } from './parent.client.js'
import { callSignedIn, ownTwins, Refused } from './service.client.js'
import { signInFlow, useAnotherEmail } from './sign-in.client.js'

/** Proves to the page that the reader holds a delegate of a persona. */

const { hash, name, issueMin, issueMax } = document.querySelector('main')?.dataset ?? {}
const step = byId('verify-step')
const noneStep = byId('none-step')
/** Whoever the reader signed in as. */
let reader = ''

start(
  signInFlow({
    step,
    // The page may have opened this dialog by itself: it learns nothing of the reader before they say so.
    async offer(email) {
      reader = email
      show(step, goButton(step))
    },
    async welcome(email) {
      reader = email
      show(step, goButton(step))
      await verify()
    },
    sentences: { not_found: () => 'This is no longer given.' },
  }),
)

onAgree(step, verify)
onClick('another-email', useAnotherEmail)

async function verify(): Promise<void> {
  const found = await findDelegates()
  if (found === undefined) return refuse()
  const { hostname, instances } = found
  const { nonce } = await callSignedIn<{ nonce: string }>('POST', '/v2/twin/nonce', { body: { hostname } })
  tell('_TQMSuccess', { hostname, nonce, timestamp: Date.now(), instances })
  finish(`Verified: ${name}.`)
}

function refuse(): never {
  tell('_TQMFail')
  show(noneStep, noneStep.querySelector('button'))
  const range = issueMin === undefined && issueMax === undefined ? '' : ' of those that this page asks for'
  throw new Refused('unverified', 403, `${reader} holds no ${name}${range}.`)
}

interface Held {
  readonly hostname: string
  readonly instances: readonly string[]
}

/** Of the first twin, from the newest on, that holds any. */
async function findDelegates(): Promise<Held | undefined> {
  const path = `/v4/persona/${encodeURIComponent(hash ?? '')}/verify`
  for await (const { id, hostname } of ownTwins()) {
    // What the page is told must let nobody spend.
    const query = new URLSearchParams({ twin_id: String(id), disclosable: 'true' })
    if (issueMin !== undefined) query.set('issue_min', issueMin)
    if (issueMax !== undefined) query.set('issue_max', issueMax)
    const { instances } = await callSignedIn<Held>('GET', `${path}?${query}`)
    if (instances.length > 0) return { hostname, instances }
  }
  return undefined
}
