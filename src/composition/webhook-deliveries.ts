import { sendMail } from '../identity/mail/send-mail.js'
import { type OnDisabled, webhookDeliveryHandlerWith } from '../jobs/webhooks/send.js'
import { billingEmails } from '../market/billing/invoice.js'

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
  const owner = `account:${account_id}` as const
  const mail = { kind: 'webhook_disabled', owner, causer: owner, subject: `Your webhook ${id} is disabled` } as const
  for (const to of await billingEmails(tx, account_id)) await sendMail(tx, { ...mail, to, text, ownLinks: baseUrl, at })
}

export const webhookDeliveryHandler = webhookDeliveryHandlerWith(mailDisabled)
