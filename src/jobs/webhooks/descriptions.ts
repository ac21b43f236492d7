import type { TextsOf } from '../../http/openapi/texts.js'
import type { webhookRoutes } from './routes.js'

const given = {
  url: 'Where its events are delivered. Redirects are not followed.',
  description: 'A note of the account. Null: there is none.',
  events: 'Which events it gets: types such as `payment.created`, groups such as `payment.*`, or `*`.',
}

const signature = 'How deliveries are signed: with a shared secret (`hmac-sha256`), or with a private key (`ed25519`).'

const shared = {
  ...given,
  signature: `${signature} Null: the key of the service was lost. Rotate.`,
  public_key:
    'The public key that verifies signatures with Ed25519: `whpk_` and Base64. Null: it is signed with a secret.',
  status: 'A disabled webhook gets nothing.',
  disabled_reason:
    'Why it is disabled: by its account (`owner`), because it failed for three days, or because it answered 410 Gone. Null: it is enabled.',
  former_secret_until: 'Until when the secret before the last rotation signs too, in Unix seconds. Null: it does not.',
}

export const webhookTexts: TextsOf<typeof webhookRoutes> = {
  operations: {
    createWebhook:
      'For the access token of an account. The webhook gets the events of the account that happen from now on, in their order. Each is a POST with the headers of [Standard Webhooks](https://www.standardwebhooks.com). An answer 2xx within 15 seconds is a success. Send an `Idempotency-Key`, so that a retry does not create a second one.',
    listWebhooks: 'For the access token of an account, which sees its own.',
    readWebhook: 'For the account of the webhook. Others get `not_found`.',
    updateWebhook:
      'For the account of the webhook. Fields that you leave out stay. Events from while it was disabled are not delivered later. A retry changes nothing more.',
    deleteWebhook: 'For the account of the webhook. A retry gets `not_found`.',
    rotateWebhook:
      'For the account of the webhook. `signature` changes how it signs. Only the last two secrets sign, so rotate twice to end a secret at once. Send an `Idempotency-Key`, so that a retry does not rotate again.',
    testWebhook:
      'For the account of the webhook. The event is tried once, and no other webhook gets it. Send an `Idempotency-Key`, so that a retry does not send a second one.',
    listWebhookDeliveries: 'For the account of the webhook. A delivery is listed as long as its event.',
    redeliverWebhook:
      'For the account of the webhook. It is tried as often as a new event. A receiver that remembers each `webhook-id` ignores what it has processed. Send an `Idempotency-Key`, so that a retry does not send it again.',
  },
  fields: {
    ...given,
    'createWebhook.signature': `${signature} Default: \`hmac-sha256\`.`,
    'rotateWebhook.signature': `${signature} Default: as before.`,
    'updateWebhook.status': 'Default: `enabled`.',
    webhooks: 'The webhooks, newest first.',
    deliveries: 'The deliveries, newest first.',
    delivery: 'The id of the delivery.',
  },
  components: {
    Webhook: { is: 'A URL to which the events of an account are delivered.', ...shared },
    WebhookWithSecret: {
      is: 'A webhook with its secret.',
      ...shared,
      secret:
        'The secret that signs its deliveries. Store it where only your server reads it. Null: it signs with a private key, which never leaves the service.',
    },
    WebhookDelivery: {
      is: 'One event on its way to one webhook.',
      message_id: 'The `webhook-id` of every try.',
      event_id: 'The id of the event.',
      type: 'The type of the event.',
      status: 'Whether it arrived. `cancelled`: its webhook was disabled first.',
      tries: 'Up to 50 tries, the earliest first.',
      next_try_at: 'When it is tried next, in Unix seconds. Null: it is not.',
    },
    WebhookTry: {
      is: 'One try of a delivery.',
      at: 'When it began, in Unix seconds.',
      status: 'The HTTP status of the answer. Null: none came.',
      ms: 'How long it took, in milliseconds.',
      error:
        'Why it failed: `bad_status`, `unreachable`, `timeout`, `redirect`, `upstream_refused` and so on. Null: it succeeded.',
    },
  },
}
