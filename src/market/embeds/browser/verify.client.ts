import { byId, finish, goButton, onAgree, onClick, showStep, start } from './dialog.client.js'
import { sendMessage } from './parent.client.js'
import { callSignedIn, ownTwins, Refused } from './service.client.js'
import { signInFlow, useAnotherEmail } from './sign-in.client.js'

/** Proves to the page that the user has a delegate of a persona. */

const { hash, name, issueMin, issueMax } = document.querySelector('main')?.dataset ?? {}
const step = byId('verify-step')
const noneStep = byId('none-step')
let userEmail = ''

start(
  signInFlow({
    step,
    // The page may have opened this dialog, so it learns nothing until the user agrees.
    async offer(email) {
      userEmail = email
      showStep(step, goButton(step))
    },
    async welcome(email) {
      userEmail = email
      showStep(step, goButton(step))
      await verify()
    },
    sentences: { not_found: () => 'This is no longer available.' },
  }),
)

onAgree(step, verify)
onClick('another-email', useAnotherEmail)

async function verify(): Promise<void> {
  const found = await findDelegates()
  if (found === undefined) return refuse()
  const { hostname, instances } = found
  const { nonce } = await callSignedIn<{ nonce: string }>('POST', '/v2/twin/nonce', { body: { hostname } })
  sendMessage('_TQMSuccess', { hostname, nonce, timestamp: Date.now(), instances })
  finish(`Verified: ${name}.`)
}

function refuse(): never {
  sendMessage('_TQMFail')
  showStep(noneStep, noneStep.querySelector('button'))
  const range = issueMin === undefined && issueMax === undefined ? '' : ' that this page accepts'
  throw new Refused('unverified', 403, `${userEmail} has no ${name}${range}.`)
}

interface FoundDelegates {
  readonly hostname: string
  readonly instances: readonly string[]
}

async function findDelegates(): Promise<FoundDelegates | undefined> {
  const path = `/v4/persona/${encodeURIComponent(hash ?? '')}/verify`
  for await (const { id, hostname } of ownTwins()) {
    // Only delegates without a spending authority are shown to the page.
    const query = new URLSearchParams({ twin_id: String(id), disclosable: 'true' })
    if (issueMin !== undefined) query.set('issue_min', issueMin)
    if (issueMax !== undefined) query.set('issue_max', issueMax)
    const { instances } = await callSignedIn<FoundDelegates>('GET', `${path}?${query}`)
    if (instances.length > 0) return { hostname, instances }
  }
  return undefined
}
