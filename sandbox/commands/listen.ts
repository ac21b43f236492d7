import { randomBytes } from 'node:crypto'
import { isRefusal } from '../../adapters/client.js'
import { systemRandom } from '../../src/base/ports.js'
import { problem } from '../../src/base/problem.js'
import { checkEventPatterns, matchesPattern } from '../../src/jobs/events/event-types.js'
import { newWebhookSecret, signatureHeaders } from '../../src/jobs/webhooks/signature.js'
import { messageOf } from '../../src/storage/unknown.js'
import { Refusal } from '../refusal.js'
import { type AccountFlags, connect, type Outside } from './running-service.js'

/** `events` are patterns, separated by commas. `secret` signs what is forwarded. Defaults: every event, a new one. */
export type ListenFlags = AccountFlags & { readonly [Name in 'events' | 'forwardTo' | 'secret']?: string | undefined }

/** How long a receiver may take to answer, as for a webhook. */
const DEADLINE_MS = 15_000
/** How many events may be on their way to the receiver at once, as for a webhook. */
const MOST_AT_ONCE = 20

/** Prints new events as they happen, and forwards each once, signed like a webhook. Ends with the signal. Throws `Refusal`. */
export async function listen(flags: ListenFlags, outside: Outside, signal: AbortSignal): Promise<void> {
  const patterns = patternsIn(flags.events)
  if (flags.secret !== undefined && flags.forwardTo === undefined)
    throw new Refusal('--secret signs what is forwarded: name where to with --forward-to')
  const forward = flags.forwardTo === undefined ? undefined : forwarder(flags.forwardTo, flags.secret, outside, signal)
  const connected = await connect(flags, outside).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
  if (!connected) return
  const { url, account } = connected
  outside.print(`Listening for events of the account at ${url}`)
  if (forward) outside.print(`Signing secret: ${forward.secret}`)
  const underWay = new Set<Promise<void>>()
  try {
    for await (const event of account.events.follow({}, { signal })) {
      const { id, type } = event
      if (!matchesPattern(patterns, type)) continue
      const line = [`#${id}`, type, 'subject' in event && event.subject].filter(Boolean).join(' ')
      if (!forward || type === 'events.removed') {
        outside.print(line)
        continue
      }
      if (underWay.size >= MOST_AT_ONCE) await Promise.race(underWay)
      const sent = forward.send(id, event).then((outcome) => {
        underWay.delete(sent)
        outside.print(`${line} -> ${outcome}`)
      })
      underWay.add(sent)
    }
  } catch (error) {
    if (signal.aborted) return
    throw isRefusal(error) ? new Refusal(`${url} ended the stream: ${error.message}`, { cause: error }) : error
  } finally {
    await Promise.all(underWay)
  }
}

function patternsIn(events = '*'): readonly string[] {
  const patterns = events.split(',').map((pattern) => pattern.trim())
  try {
    checkEventPatterns(patterns)
    return patterns
  } catch (error) {
    throw new Refusal(`--events: ${messageOf(error).replace(`${problem('field_invalid').message} `, '')}`)
  }
}

function forwarder(to: string, given: string | undefined, { fetch }: Pick<Outside, 'fetch'>, signal: AbortSignal) {
  if (!/^https?:\/\//.test(to) || !URL.canParse(to))
    throw new Refusal(`--forward-to must begin with http:// or https://, unlike "${to}"`)
  if (given !== undefined && !/^whsec_[A-Za-z0-9+/]+=*$/.test(given))
    throw new Refusal('--secret must be "whsec_" and Base64, such as a secret that this command printed')
  const secret = given ?? newWebhookSecret(systemRandom)
  // After a reset, the ids of events begin again.
  const run = randomBytes(8).toString('hex')
  return {
    secret,
    async send(id: number, event: object): Promise<string> {
      const body = JSON.stringify(event)
      const timestamp = Math.floor(Date.now() / 1000)
      const signed = await signatureHeaders([secret], { id: `msg_${run}_${id}`, timestamp, body })
      const headers = { 'content-type': 'application/json', ...signed }
      const ended = AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)])
      try {
        const answer = await fetch(to, { method: 'POST', headers, body, redirect: 'manual', signal: ended })
        await answer.body?.cancel()
        return String(answer.status)
      } catch (error) {
        return `no answer: ${messageOf(error instanceof Error ? (error.cause ?? error) : error)}`
      }
    },
  }
}
