import { useEffect, useRef, useState } from 'preact/hooks'
import type { Mail } from '../phone/mails.js'
import { demo } from '../seed/demo.js'
import { at, send } from './ask.js'
import { channelName, type Told } from './channel.js'
import { type Bought, paidFor, putOnShelf } from './shelf.js'

/** What the page shows of the service's state. */
export interface Shown {
  /** False where a state was opened that has no shop of ours. */
  readonly hasShop: boolean
  readonly bought: readonly Bought[]
  /** Newest first. */
  readonly mails: readonly Mail[]
  /** How often value moved. */
  readonly movements: number
}

export interface Demo {
  readonly shown: Shown
  /** Another one whenever balances may be others. */
  readonly version: string
  /** Grows when the whole state becomes another. */
  readonly epoch: number
  /** Has the shop's server validate a payment. This and the next two give back why it was refused. */
  unlock(proof: { hash: string; nonce: string; timestamp: number }): Promise<string | undefined>
  reset(): Promise<string | undefined>
  open(file: Blob): Promise<string | undefined>
}

/** The demo's state, kept up to date while the page is shown; what other tabs do to it included. */
export function useDemo(first: Shown): Demo {
  const [shown, setShown] = useState(first)
  const [epoch, setEpoch] = useState(0)
  const others = useRef<BroadcastChannel>(null)

  async function refresh(isOther = false): Promise<void> {
    setShown(await readShown())
    if (isOther) setEpoch((each) => each + 1)
  }

  useEffect(() => {
    const channel = (others.current = new BroadcastChannel(channelName(at(''))))
    channel.onmessage = ({ data }: MessageEvent<Told>) => refresh(data === 'changed')
    document.addEventListener('visibilitychange', () => document.hidden || refresh())
    // A newer worker has the same state.
    navigator.serviceWorker.addEventListener('controllerchange', () => refresh())
    return () => channel.close()
  }, [])

  async function change(method: string, path: string, body?: object): Promise<string | undefined> {
    const answer = await send(method, path, body)
    if (!answer.ok) return answer.body.error
    await refresh(true)
    others.current?.postMessage('changed' satisfies Told)
    return undefined
  }

  return {
    shown,
    version: `${epoch}.${shown.movements}`,
    epoch,
    async unlock(proof) {
      const { ok, body } = await send('POST', 'shop/unlock', proof)
      if (ok) putOnShelf({ hash: proof.hash, ...body })
      await refresh()
      return ok ? undefined : `The payment could not be validated. ${body.error}`
    },
    reset: () => change('POST', 'pay/_sandbox/reset'),
    open: (file) => change('PUT', 'pay/_sandbox/snapshot', file),
  }
}

/** Throws where the service does not answer. */
export async function readShown(): Promise<Shown> {
  const [state, outbox] = await Promise.all([
    send('GET', 'pay/_sandbox/snapshot'),
    send('GET', 'pay/_sandbox/outbox?limit=20'),
  ])
  if (!state.ok || !outbox.ok) throw new Error([state, outbox].find(({ ok }) => !ok)?.body.error)
  const { commodities = [], payments = [] } = state.body.rows
  const sold = new Set(commodities.map(({ id }: { id: string }) => id))
  return {
    hasShop: Object.values(demo.commodities).every((hash) => sold.has(hash)),
    bought: paidFor(payments),
    mails: outbox.body.messages,
    movements: state.body.counters.movements ?? 0,
  }
}
