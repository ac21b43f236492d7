import { component, IdPath, listing, UnixSeconds, z } from '../../http/fields/schema.js'
import { noContent } from '../../http/reply.js'
import { defineRoutes, route } from '../../http/route.js'
import { signatureKinds } from './signature.js'
import * as webhook from './webhook.js'

const fields = {
  url: z.string().check(z.maxLength(2048)),
  events: z.array(z.string().check(z.maxLength(100))).check(z.minLength(1), z.maxLength(50)),
  description: z.nullable(z.string().check(z.maxLength(255))),
  signature: z.enum(signatureKinds),
}

const webhookShape = {
  id: z.Id,
  url: z.string(),
  description: z.nullable(z.string()),
  events: z.array(z.string()),
  signature: z.nullable(z.enum(signatureKinds)),
  public_key: z.nullable(z.string()),
  status: z.enum(['enabled', 'disabled']),
  disabled_reason: z.nullable(z.enum(['owner', 'failing', 'gone'])),
  former_secret_until: z.nullable(UnixSeconds),
  created_at: UnixSeconds,
  updated_at: UnixSeconds,
}

const Webhook = component('Webhook', webhookShape)
const WebhookWithSecret = component('WebhookWithSecret', { ...webhookShape, secret: z.secret(z.nullable(z.string())) })

const WebhookDelivery = component('WebhookDelivery', {
  id: z.Id,
  message_id: z.TextId,
  event_id: z.Id,
  type: z.string(),
  status: z.enum(['pending', 'succeeded', 'failed', 'cancelled']),
  tries: z.array(
    component('WebhookTry', {
      at: UnixSeconds,
      status: z.nullable(z.int()),
      ms: z.int(),
      error: z.nullable(z.string()),
    }),
  ),
  next_try_at: z.nullable(UnixSeconds),
  created_at: UnixSeconds,
})

const webhookRoute = { evidence: 'designed', versions: ['v4'], auth: ['account'] } as const

/** An empty body is optional. */
const noFields = { body: z.object({}), bodyOptional: true } as const

export const webhookRoutes = defineRoutes('webhooks', {
  createWebhook: route({
    ...webhookRoute,
    summary: 'Create a webhook. Only this answer and that of a rotation show its secret.',
    method: 'POST',
    path: '/webhooks',
    body: z.object({
      url: fields.url,
      events: fields.events,
      description: z.optional(fields.description),
      signature: z.optional(fields.signature),
    }),
    status: 201,
    result: WebhookWithSecret,
    errors: ['upstream_refused', 'field_invalid', 'too_many_webhooks'],
    idempotent: true,
    write: (tx, { body, principal }, service) =>
      webhook.createWebhook(tx, { ...body, accountId: principal.id, at: service.clock.now() }, service),
  }),
  listWebhooks: route({
    ...webhookRoute,
    summary: "List the account's webhooks, newest first.",
    path: '/webhooks',
    ...listing('webhooks', Webhook),
    read: (tx, { query, principal }, { clock }) =>
      webhook.listWebhooks(tx, { ...query, accountId: principal.id, at: clock.now() }),
  }),
  readWebhook: route({
    ...webhookRoute,
    summary: 'Read a webhook.',
    method: 'GET',
    path: '/webhooks/:id',
    params: IdPath,
    result: Webhook,
    errors: ['not_found'],
    read: async (tx, { params, principal }, { clock }) =>
      webhook.showWebhook(await webhook.ownWebhook(tx, params.id, principal.id), clock.now()),
  }),
  updateWebhook: route({
    ...webhookRoute,
    summary: 'Change a webhook, and enable it again unless `status` is `disabled`.',
    method: 'PUT',
    path: '/webhooks/:id',
    params: IdPath,
    body: z.object({
      url: z.optional(fields.url),
      events: z.optional(fields.events),
      description: z.optional(fields.description),
      status: z.optional(z.enum(['enabled', 'disabled'])),
    }),
    result: Webhook,
    errors: ['not_found', 'upstream_refused', 'field_invalid'],
    write: (tx, { params, body, principal }, service) =>
      webhook.updateWebhook(tx, params.id, { ...body, accountId: principal.id, at: service.clock.now() }, service),
  }),
  deleteWebhook: route({
    ...webhookRoute,
    summary: 'Delete a webhook, and end its deliveries.',
    method: 'DELETE',
    path: '/webhooks/:id',
    params: IdPath,
    status: 204,
    errors: ['not_found'],
    async write(tx, { params, principal }, { clock }) {
      await webhook.deleteWebhook(tx, params.id, { accountId: principal.id, at: clock.now() })
      return noContent()
    },
  }),
  rotateWebhook: route({
    ...webhookRoute,
    summary: 'Give a webhook a new secret or private key. The old one signs too for a day.',
    method: 'POST',
    path: '/webhooks/:id/rotate',
    params: IdPath,
    body: z.object({ signature: z.optional(fields.signature) }),
    bodyOptional: true,
    result: WebhookWithSecret,
    errors: ['not_found', 'field_invalid'],
    idempotent: true,
    write: (tx, { params, body, principal }, service) =>
      webhook.rotateWebhook(tx, params.id, { ...body, accountId: principal.id, at: service.clock.now() }, service),
  }),
  testWebhook: route({
    ...webhookRoute,
    summary: 'Send an event of the type `webhook.test` to a webhook.',
    method: 'POST',
    path: '/webhooks/:id/test',
    params: IdPath,
    ...noFields,
    status: 201,
    result: WebhookDelivery,
    errors: ['not_found', 'webhook_disabled'],
    adds: 'webhook_deliveries',
    idempotent: true,
    write: (tx, { params, principal }, service) =>
      webhook.testWebhook(tx, params.id, { accountId: principal.id, at: service.clock.now() }, service),
  }),
  listWebhookDeliveries: route({
    ...webhookRoute,
    summary: 'List the deliveries of a webhook with their tries, newest first.',
    path: '/webhooks/:id/deliveries',
    params: IdPath,
    ...listing('deliveries', WebhookDelivery),
    errors: ['not_found', 'cursor_invalid'],
    read: (tx, { params, query, principal }) =>
      webhook.listWebhookDeliveries(tx, params.id, { ...query, accountId: principal.id }),
  }),
  redeliverWebhook: route({
    ...webhookRoute,
    summary: 'Send an event to a webhook again, under the same `webhook-id`.',
    method: 'POST',
    path: '/webhooks/:id/deliveries/:delivery/redeliver',
    params: z.object({ id: z.Id, delivery: z.int() }),
    ...noFields,
    result: WebhookDelivery,
    errors: ['not_found', 'webhook_disabled'],
    idempotent: true,
    write: (tx, { params, principal }, { clock }) =>
      webhook.redeliverWebhook(tx, params, { accountId: principal.id, at: clock.now() }),
  }),
})
