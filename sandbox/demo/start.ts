import { register } from '../../adapters/service-worker/register.js'
import type * as element from '../../src/market/embeds/browser/element.client.js'
import { demo } from '../seed/demo.js'
import { sendRequest, urlOf } from './requests.js'
import { PageOutdated } from './state.js'

/** The demo cannot run in this browser. The message is a sentence for its user. */
export class CannotStart extends Error {}

/** Installs the worker and loads the payment element from it. Throws `CannotStart`. */
export async function start(): Promise<element.MicroPayments> {
  await checkBrowser()
  await register(urlOf('worker.js')).catch((cause: Error) => {
    throw new CannotStart(`The shop could not be installed. ${cause.message}`, { cause })
  })
  const { ok, body } = await sendRequest('GET', 'pay/v4/dq')
  if (!ok && body.schema !== undefined) throw new PageOutdated(body.error)
  if (!ok) throw new CannotStart(`The shop is installed, but its data cannot be read. ${body.error}`)
  await runScript(urlOf('pay/micropay.js'))
  const { loadMicroPayments } = globalThis as typeof globalThis & typeof element // What the script adds.
  return loadMicroPayments(demo.account.public_secret)
}

function runScript(src: string): Promise<unknown> {
  const script = Object.assign(document.createElement('script'), { type: 'module', src })
  document.head.append(script)
  return new Promise((resolve, reject) => {
    script.onload = resolve
    script.onerror = () => reject(new CannotStart('The payment element did not load. Reload this page.'))
  })
}

async function checkBrowser(): Promise<void> {
  if (!isSecureContext)
    throw new CannotStart(
      'This page uses plain http. Browsers run this shop only over https or on localhost. Open it there.',
    )
  if (!navigator.serviceWorker)
    throw new CannotStart(
      'This browser does not run service workers on this page. If this is a private window, open the page in a normal one.',
    )
  if (!(await canStoreData()) || !navigator.locks)
    throw new CannotStart(
      'This browser does not store data for this page. If this is a private window, open the page in a normal one.',
    )
}

/** Whether the page can open a database. Some browsers have IndexedDB but refuse to open one. */
async function canStoreData(): Promise<boolean> {
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
