import { Webhook } from 'standardwebhooks'
import { vi } from 'vitest'
import { createService, type ServiceOptions } from '../../../src/index.js'
import { type Call, caller } from '../api.js'

/** One try that a receiver got. */
export interface Received {
  readonly url: string
  readonly id: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly event: { readonly id: number; readonly type: string; readonly subject: string; readonly data: object }
}

export type Answering = (received: Received) => number | Promise<number>

/** A sandbox whose clock stands still, with receivers behind its port `upstream`. */
export function startWithReceivers(answering: Answering = () => 204, options: ServiceOptions = {}) {
  const received: Received[] = []
  const receivers = { answering }
  const service = createService({
    sandbox: true,
    limits: { closeMs: 50 },
    ...options,
    upstream: {
      async fetch({ url, headers, body }) {
        const text = String(body)
        const got = {
          url,
          id: headers['webhook-id'] ?? '',
          headers: { ...headers },
          body: text,
          event: JSON.parse(text),
        }
        received.push(got)
        return new Response(null, { status: await receivers.answering(got) })
      },
    },
  })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  return { service, call, received, receivers }
}

export const HOOK = 'https://shop.example.test/hook'

export async function newWebhook(call: Call, { token }: { token: string }, body: object = {}) {
  const answer = await call('POST', '/v4/webhooks', { token, body: { url: HOOK, events: ['client.*'], ...body } })
  if (answer.status !== 201) throw new Error(`webhook: ${answer.status} ${answer.text}`)
  return answer.body
}

/** Writes an event of the account. Returns its id. */
export const writeEvent = async (call: Call, { token }: { token: string }, type = 'client.done', data = {}) =>
  (await call('POST', '/v4/events', { token, body: { type, data } })).body.id

export const deliveriesOf = async (call: Call, { token }: { token: string }, id: number) =>
  (await call('GET', `/v4/webhooks/${id}/deliveries?limit=100`, { token })).body.deliveries

/** Verifies a delivery as a stranger would. Throws if the signature is wrong. */
export const verify = (secret: string, { body, headers }: Pick<Received, 'body' | 'headers'>) =>
  new Webhook(secret).verify(body, { ...headers })

/** Waits longer than a busy machine takes. */
export const until = (check: () => unknown) => vi.waitUntil(check, { interval: 5 })
