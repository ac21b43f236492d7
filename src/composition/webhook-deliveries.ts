import { spendLetter } from '../jobs/outbox/mail-limit.js'
import { postMail } from '../jobs/outbox/outbox.js'
import { type OnDisabled, webhookDeliveryHandlerWith } from '../jobs/webhooks/send.js'
import { billingEmails } from '../market/billing/profile.js'

const reasons = {
  owner: 'you disabled it',
  failing: 'it did not accept an event for three days',
  gone: 'it answered 410 Gone, which ends deliveries',
}

/** Mails the addresses that also get the account's invoices. */
const mailDisabled: OnDisabled = async (tx, { id, account_id, url }, { reason, baseUrl, at }) => {
  const { host } = new URL(url)
  const text = [
    `We disabled your webhook ${id} at ${host}, because ${reasons[reason]}. Its deliveries have ended.`,
    `To see what happened: GET ${baseUrl}/v4/webhooks/${id}/deliveries. To enable it again: PUT ${baseUrl}/v4/webhooks/${id}. Then send again what you missed, or read it with GET ${baseUrl}/v4/events.`,
  ].join('\n\n')
  for (const to of await billingEmails(tx, account_id))
    if (await spendLetter(tx, { accountId: account_id, to, at }))
      await postMail(tx, { to, subject: `Your webhook at ${host} is disabled`, text, at })
}

/** Delivers events to webhooks. */
export const webhookDeliveryHandler = webhookDeliveryHandlerWith(mailDisabled)
