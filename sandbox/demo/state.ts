import { useEffect, useRef, useState } from 'preact/hooks'
import { register } from '../../adapters/service-worker/register.js'
import type * as element from '../../src/market/embeds/browser/element.client.js'
import type { Mail } from '../phone/mails.js'
import { demo } from '../seed/demo.js'
import type { Content } from './back-end.js'
import { type ChannelMessage, channelName, sendRequest, urlOf } from './requests.js'

export interface DemoView {
  /** False if the user opened a state without the demo's shop. */
  readonly hasShop: boolean
  readonly bought: readonly PaidContent[]
  readonly mails: readonly Mail[]
  readonly movements: number
}

export interface Demo {
  readonly shown: DemoView
  /** Why this page must be loaded again: a newer version of it has changed the stored state. */
  readonly outdated: string | undefined
  /** Changes whenever a balance may have changed. */
  readonly version: string
  /** Grows whenever the whole state is replaced. */
  readonly epoch: number
  /** Sends a payment to the shop's server. Like the next two, it resolves to the reason if it is refused. */
  unlock(proof: { hash: string; nonce: string; timestamp: number }): Promise<string | undefined>
  reset(): Promise<string | undefined>
  open(file: Blob): Promise<string | undefined>
}

/** The demo's state. It follows changes, also those by other tabs. */
export function useDemo(first: DemoView): Demo {
  const [shown, setShown] = useState(first)
  const [epoch, setEpoch] = useState(0)
  const [outdated, setOutdated] = useState<string>()
  const others = useRef<BroadcastChannel>(null)

  async function refresh(isOther = false): Promise<void> {
    try {
      setShown(await readDemoView())
    } catch (error) {
      if (!(error instanceof PageOutdated)) throw error
      setOutdated(error.message)
    }
    if (isOther) setEpoch((each) => each + 1)
  }

  useEffect(() => {
    const channel = (others.current = new BroadcastChannel(channelName(urlOf(''))))
    channel.onmessage = ({ data }: MessageEvent<ChannelMessage>) => refresh(data === 'changed')
    document.addEventListener('visibilitychange', () => document.hidden || refresh())
    // A newer worker opens the same state, so nothing is replaced.
    navigator.serviceWorker.addEventListener('controllerchange', () => refresh())
    return () => channel.close()
  }, [])

  async function change(method: string, path: string, body?: object): Promise<string | undefined> {
    const answer = await sendRequest(method, path, body)
    if (!answer.ok && answer.body.schema !== undefined) setOutdated(answer.body.error)
    if (!answer.ok) return answer.body.error
    await refresh(true)
    others.current?.postMessage('changed' satisfies ChannelMessage)
    return undefined
  }

  return {
    shown,
    outdated,
    version: `${epoch}.${shown.movements}`,
    epoch,
    async unlock(proof) {
      const { ok, body } = await sendRequest('POST', 'shop/unlock', proof)
      if (ok) storePaidContent({ hash: proof.hash, ...body })
      await refresh()
      return ok ? undefined : `The payment is not valid. ${body.error}`
    },
    reset: () => change('POST', 'pay/_sandbox/reset'),
    open: (file) => change('PUT', 'pay/_sandbox/snapshot', file),
  }
}

/** A newer version of this page has changed the stored state. The message is a sentence for the user. */
export class PageOutdated extends Error {}

/** Reads what the page shows. Throws `PageOutdated`, and an `Error` if the service does not answer. */
export async function readDemoView(): Promise<DemoView> {
  const [state, outbox] = await Promise.all([
    sendRequest('GET', 'pay/_sandbox/snapshot'),
    sendRequest('GET', 'pay/_sandbox/outbox?limit=20'),
  ])
  const failed = [state, outbox].find(({ ok }) => !ok)
  // The service says the schema of a state that it does not know.
  if (failed?.body.schema !== undefined) throw new PageOutdated(failed.body.error)
  if (failed) throw new Error(failed.body.error)
  const { commodities = [], payments = [] } = state.body.rows
  const sold = new Set(commodities.map(({ id }: { id: string }) => id))
  return {
    hasShop: Object.values(demo.commodities).every((hash) => sold.has(hash)),
    bought: readPaidContent(payments),
    mails: outbox.body.messages,
    movements: state.body.counters.movements ?? 0,
  }
}

export interface PaidContent {
  readonly hash: string
  readonly content: Content
  readonly payment: { readonly id: number; readonly hostname: string; readonly created_at: number }
}

interface PaymentRow {
  readonly id: number
  readonly hash: string
  readonly created_at: number
  readonly nonce_used_at: number | null
}

const MAX_STORED = 50
const key = () => `farthing demo shelf ${urlOf('')}`

/** Stores paid content in the browser, where it outlives the page. */
export function storePaidContent(bought: PaidContent): void {
  localStorage.setItem(key(), JSON.stringify([bought, ...readStored()].slice(0, MAX_STORED)))
}

function readStored(): PaidContent[] {
  return JSON.parse(localStorage.getItem(key()) ?? '[]')
}

/** Returns the content that is paid for in the current state, newest first. The user may have reset or replaced the state. */
export function readPaidContent(payments: readonly PaymentRow[]): PaidContent[] {
  return readStored().filter(({ hash, payment: { id, created_at } }) => {
    const paid = payments.find((each) => each.id === id && each.hash === hash && each.nonce_used_at !== null)
    return paid !== undefined && Math.floor(paid.created_at / 1000) === created_at
  })
}

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
