import { register } from '../../adapters/service-worker.js'
import type * as element from '../../src/market/embeds/browser/element.client.js'
import { demo } from '../seed/demo.js'
import { at, send } from './ask.js'

/** Why the demo cannot run here, in a sentence for its reader. */
export class CannotStart extends Error {}

/** Installs the worker and loads the payment element from it. Throws `CannotStart`. */
export async function start(): Promise<element.MicroPayments> {
  await checkBrowser()
  await register(at('worker.js')).catch((cause: Error) => {
    throw new CannotStart(`The shop could not be installed on this device. ${cause.message}`, { cause })
  })
  const { ok, body } = await send('GET', 'pay/v4/dq')
  if (!ok) throw new CannotStart(`The shop is installed, but its data cannot be read. ${body.error}`)
  await runScript(at('pay/micropay.js'))
  const { loadMicroPayments } = globalThis as typeof globalThis & typeof element // What the script adds.
  return loadMicroPayments(demo.account.public_secret)
}

function runScript(src: string): Promise<unknown> {
  const script = Object.assign(document.createElement('script'), { type: 'module', src })
  document.head.append(script)
  return new Promise((resolve, reject) => {
    script.onload = resolve
    script.onerror = () => reject(new CannotStart('The payment element could not be loaded. Load this page again.'))
  })
}

async function checkBrowser(): Promise<void> {
  if (!isSecureContext)
    throw new CannotStart(
      'This page came over plain http. Browsers run a shop like this one only over https, or from localhost.',
    )
  if (!navigator.serviceWorker)
    throw new CannotStart(
      'This browser lets no service worker run here, perhaps because this is a private window. Open the page in an ordinary one.',
    )
  if (!(await keepsData()) || !navigator.locks)
    throw new CannotStart(
      'This browser keeps no data for this page, perhaps because this is a private window. Open the page in an ordinary one.',
    )
}

/** Whether a database can be opened: some browsers have IndexedDB and refuse its use. */
async function keepsData(): Promise<boolean> {
  try {
    const name = 'farthing demo probe'
    await new Promise((resolve, reject) => {
      const opening = indexedDB.open(name)
      opening.onsuccess = () => resolve(opening.result.close())
      opening.onerror = () => reject(opening.error)
    })
    indexedDB.deleteDatabase(name)
    return true
  } catch {
    return false
  }
}
