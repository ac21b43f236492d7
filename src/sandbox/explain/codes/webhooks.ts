import { webhooks } from '../../../jobs/webhooks/webhook-row.js'
import type { Explainers } from '../facts/explainer.js'
import { callerId, callerOwner, first, saidNumber, sentNumber } from '../facts/refused-request.js'
import { plural } from '../facts/words.js'

/** Webhooks of accounts, and streams of events. */
export const webhookExplainers = {
  async too_many_webhooks(asked) {
    const account = callerId(asked, 'account')
    const own =
      account === undefined ? [] : await asked.tx.find(webhooks, { index: 'byAccount', prefix: [account], limit: 100 })
    const oldest = own[0]
    return {
      sentences: [
        `The account has ${plural(own.length, 'webhook')}, which is as many as it may have.`,
        ...(oldest ? [`The oldest is webhook ${oldest.id}, for ${oldest.url}. Delete one that nothing needs.`] : []),
      ],
      facts: { account: account ?? null, most: 20, webhooks: own.map(({ id, url, status }) => ({ id, url, status })) },
      fix:
        oldest &&
        first(asked, 'deleteWebhook', {
          method: 'DELETE',
          path: `/v4/webhooks/${oldest.id}`,
          as: `account:${oldest.account_id}`,
        }),
    }
  },

  async too_many_streams(asked) {
    const owner = callerOwner(asked)
    const most = saidNumber(asked, 'limit') ?? null
    return {
      sentences: [
        `${owner ?? 'The caller'} had ${most ?? 'as many'} streams open${most === null ? ' as it may have' : ', which is as many as it may have'}.`,
        'Close one of them. Each ends by itself after 10 minutes.',
      ],
      facts: { owner, most },
      fix: undefined,
    }
  },

  async webhook_disabled(asked) {
    const id = sentNumber(asked, 'id')
    const webhook = id === undefined ? undefined : await asked.tx.get(webhooks, id)
    const owner = callerOwner(asked)
    const reason = webhook?.disabled_reason ?? null
    return {
      sentences: [
        `The webhook ${id ?? ''} for ${webhook?.url ?? 'an unknown address'} is disabled${reason === null ? '' : `: ${reason === 'owner' ? 'its owner disabled it' : reason.replaceAll('_', ' ')}`}.`,
        'Enable it, and send the request again.',
      ],
      facts: { webhook: id ?? null, url: webhook?.url ?? null, disabled_reason: reason },
      fix: first(asked, 'updateWebhook', {
        method: 'PUT',
        path: `/v4/webhooks/${id}`,
        ...(owner !== null && { as: owner }),
        body: { status: 'enabled' },
      }),
    }
  },
} satisfies Explainers
