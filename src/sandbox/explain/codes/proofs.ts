import { generationOf } from '../../../identity/users/user.js'
import { balances } from '../../../money/ledger/balance.js'
import { twinByHostname } from '../../../money/twins/twin.js'
import { twinNonces } from '../../../money/twins/twin-nonce.js'
import { type PaymentRow, payments } from '../../../payments/payments/payment.js'
import { type TransferRow, transfers } from '../../../payments/transfers/transfer.js'
import type { Explainers } from '../facts/explainer.js'
import type { Fix } from '../facts/explanation.js'
import { commodityIn } from '../facts/price.js'
import { again, corrected, first, type RefusedRequest, sentNumber, sentText } from '../facts/refused-request.js'
import { endText, money, ownerText, plural, shownAmount, timeText } from '../facts/words.js'

/** Proofs of payments and of twins, and transfers that wait. */
export const proofExplainers = {
  async nonce_unknown(asked) {
    const { commodity, found, payment } = await paymentsOf(asked)
    const elsewhere = await paymentAt(asked)
    const isElsewhere = elsewhere !== undefined && elsewhere.hash !== commodity?.id
    return {
      sentences: [
        `The commodity ${commodity?.descriptor ?? asked.params.hash} had ${plural(found.length, 'payment')} at that moment, and none has this nonce with this timestamp.`,
        ...(isElsewhere ? [`A payment of that time is for the commodity ${elsewhere.hash}.`] : []),
        ...(payment
          ? [
              `The last payment is ${payment.id}, made at ${timeText(payment.created_at)} (timestamp ${payment.created_at}).`,
            ]
          : []),
      ],
      facts: {
        hash: commodity?.id ?? null,
        timestamp: sentNumber(asked, 'timestamp') ?? null,
        payments: found.map(paymentFacts),
        elsewhere: elsewhere ? paymentFacts(elsewhere) : null,
      },
      fix: isElsewhere
        ? corrected(asked, { path: asked.entry.path.replace(asked.params.hash ?? '', elsewhere.hash ?? '') })
        : commodity && payAgain(asked, commodity.id, payment),
    }
  },

  async nonce_used(asked) {
    const { commodity, payment } = await paymentsOf(asked, ({ nonce_used_at }) => nonce_used_at !== null)
    const used = payment?.nonce_used_at ?? null
    const earlier = await asked.findEarlier(
      ({ operation_id, status, path }) =>
        operation_id === 'validatePayment' && status === 200 && path.split('?')[0] === asked.entry.path.split('?')[0],
    )
    return {
      sentences: [
        ...(payment && used !== null
          ? [
              `The nonce of payment ${payment.id} was validated at ${timeText(used)}${earlier ? ` by ${earlier.id}` : ''}.`,
            ]
          : []),
        'A nonce validates once. A new payment has a new nonce.',
      ],
      facts: {
        hash: commodity?.id ?? null,
        payment: payment ? paymentFacts(payment) : null,
        used_at: used === null ? null : timeText(used),
        used_by: earlier?.id ?? null,
      },
      fix: commodity && payAgain(asked, commodity.id, payment),
    }
  },

  async nonce_expired(asked) {
    const { commodity, payment } = await paymentsOf(asked, ({ nonce_used_at }) => nonce_used_at === null)
    const until = payment?.nonce_expires_at ?? null
    return {
      sentences: [
        ...(payment && until !== null ? [`The nonce of payment ${payment.id} ${endText(until, asked.at)}.`] : []),
        `A nonce lasts ${asked.service.limits.nonceSeconds} seconds (\`limits.nonceSeconds\`). The payment itself stays.`,
      ],
      facts: {
        hash: commodity?.id ?? null,
        payment: payment ? paymentFacts(payment) : null,
        expires_at: until === null ? null : timeText(until),
        nonce_seconds: asked.service.limits.nonceSeconds,
      },
      fix: commodity && payAgain(asked, commodity.id, payment),
    }
  },

  async twin_nonce_refused(asked) {
    const hostname = sentText(asked, 'hostname') ?? ''
    const twin = await twinByHostname(asked.tx, hostname)
    const open = twin
      ? await asked.tx.find(twinNonces, { index: 'byTwin', prefix: [twin.id], limit: 20, reverse: true })
      : []
    const generation = await generationOf(asked.tx, twin?.owner ?? '')
    const current = open.filter((nonce) => nonce.expires_at > asked.at && nonce.generation === generation)
    return {
      sentences: [
        twin
          ? `${hostname} belongs to ${await ownerText(asked.tx, twin.owner)} and had ${plural(current.length, 'unused nonce')} at that moment.`
          : `No twin has the hostname ${hostname || 'of the request'}.`,
        'A nonce of a twin works once, within five minutes. Let the holder create a new one.',
      ],
      facts: { hostname, owner: twin?.owner ?? null, unused: current.length },
      fix:
        twin &&
        first(
          asked,
          'createTwinNonce',
          { method: 'POST', path: '/v2/twin/nonce', as: twin.owner, body: { hostname } },
          again(asked, { body: { nonce: '{nonce}' } }),
        ),
    }
  },

  async not_invited(asked) {
    const transfer = await transferIn(asked)
    return {
      sentences: [
        ...(transfer
          ? [
              await aboutTransfer(asked, transfer),
              `${asked.entry.principal} sent it, and only the person with that address can claim it.`,
              'Their first sign-in proves the address, and claims the transfer.',
            ]
          : []),
      ],
      facts: transferFacts(transfer),
      fix: transfer && {
        operation_id: 'signInAsUser',
        example: { method: 'POST', path: '/_sandbox/sign-in', body: { email: transfer.address } },
        next: null,
      },
    }
  },

  async transfer_settled(asked) {
    const transfer = await transferIn(asked)
    const isClaim = asked.entry.operation_id === 'claimTransfer'
    return {
      sentences: [
        ...(transfer ? [await aboutTransfer(asked, transfer)] : []),
        isClaim
          ? 'It has ended, so nobody can claim it. Its sender can send the amount again.'
          : transfer?.status === 'completed'
            ? 'The recipient has the amount, and can send it back with a transfer of their own.'
            : 'Nothing is left to cancel: the sender has the amount.',
      ],
      facts: transferFacts(transfer),
      fix: isClaim && transfer ? await sendAgain(asked, transfer) : undefined,
    }
  },

  async transfer_expired(asked) {
    const transfer = await transferIn(asked)
    return {
      sentences: [
        ...(transfer ? [await aboutTransfer(asked, transfer)] : []),
        'The amount is back with its sender, who can send it again.',
      ],
      facts: transferFacts(transfer),
      fix: transfer && (await sendAgain(asked, transfer)),
    }
  },

  async binder_refused(asked) {
    const twin = await twinByHostname(asked.tx, asked.params.hostname ?? '')
    const rows = twin ? await asked.tx.find(balances, { index: 'byTwin', prefix: [twin.id], limit: 20 }) : []
    const full = rows.filter(({ amount, held }) => amount !== '0' || held !== '0')
    return {
      sentences: [
        `${asked.params.hostname} has a history already${full.length > 0 ? `: ${(await Promise.all(full.map(({ dq, amount }) => money(asked.tx, dq, amount)))).join(', ')}` : ''}. A binder needs a twin without one.`,
        'Create a twin for it, then import the file there.',
      ],
      facts: {
        hostname: asked.params.hostname ?? null,
        owner: twin?.owner ?? null,
        balances: await Promise.all(
          full.map(async ({ dq, amount }) => ({ dq, amount: await shownAmount(asked.tx, dq, amount) })),
        ),
      },
      fix:
        twin && /^(account|user):/.test(twin.owner)
          ? first(
              asked,
              'createTwin',
              { method: 'POST', path: '/v4/twin', as: twin.owner, body: { dq: twin.dq } },
              again(asked, { path: asked.entry.path.replace(twin.hostname, '{hostname}') }),
            )
          : undefined,
    }
  },
} satisfies Explainers

/** The payments for a commodity, the newest first, and the one that the timestamp names or else the newest that fits. */
async function paymentsOf(asked: RefusedRequest, fits: (payment: PaymentRow) => boolean = () => true) {
  const commodity = await commodityIn(asked)
  const found = commodity
    ? await asked.tx.find(payments, { index: 'byCommodity', prefix: [commodity.id], limit: 20, reverse: true })
    : []
  const timestamp = sentNumber(asked, 'timestamp')
  const named = found.filter(({ created_at }) => [created_at, Math.floor(created_at / 1000)].includes(timestamp ?? -1))
  return { commodity, found, payment: named.find(fits) ?? found.find(fits) }
}

/** A payment of any of the seller's commodities that has the timestamp of the request. */
async function paymentAt(asked: RefusedRequest): Promise<PaymentRow | undefined> {
  const timestamp = sentNumber(asked, 'timestamp')
  const { principal } = asked.entry
  if (timestamp === undefined || principal === null) return undefined
  const found = await asked.tx.find(payments, { index: 'byPayee', prefix: [principal], limit: 100, reverse: true })
  return found.find(({ created_at }) => [created_at, Math.floor(created_at / 1000)].includes(timestamp))
}

/** A payment without its proof. */
const paymentFacts = ({ id, hash, created_at, payer_owner, status }: PaymentRow) => ({
  id,
  hash,
  payer: payer_owner,
  status,
  timestamp: created_at,
})

/** Pays again, and then validates the new nonce. */
const payAgain = (asked: RefusedRequest, hash: string, last: PaymentRow | undefined): Fix =>
  first(
    asked,
    'createPayment',
    { method: 'POST', path: `/v4/payment/${hash}`, ...(last && { as: last.payer_owner }), body: {} },
    again(asked, { body: { nonce: '{nonce}', timestamp: '{timestamp}' } }),
  )

const transferIn = (asked: RefusedRequest): Promise<TransferRow | undefined> =>
  asked.tx.get(transfers, Number(asked.params.id))

async function aboutTransfer({ tx, at }: RefusedRequest, transfer: TransferRow): Promise<string> {
  const { id, dq, amount, sender_owner, address, status, expires_at } = transfer
  const end =
    expires_at !== null && expires_at <= at && status === 'invited' ? `. The invitation ${endText(expires_at, at)}` : ''
  return `Transfer ${id} of ${await money(tx, dq, amount)} from ${await ownerText(tx, sender_owner)} to ${address} was \`${status}\`${end}.`
}

const transferFacts = (transfer: TransferRow | undefined) => ({
  transfer: transfer?.id ?? null,
  status: transfer?.status ?? null,
  address: transfer?.address ?? null,
  sender: transfer?.sender_owner ?? null,
  recipient: transfer?.recipient_owner ?? null,
  expires_at: transfer?.expires_at == null ? null : timeText(transfer.expires_at),
})

const sendAgain = async (
  { tx }: RefusedRequest,
  { sender_owner, address, dq, amount: units }: TransferRow,
): Promise<Fix> => ({
  operation_id: 'createTransfer',
  example: {
    method: 'POST',
    path: '/v4/transfer',
    as: sender_owner,
    body: { address, amount: await shownAmount(tx, dq, units), dq },
  },
  next: null,
})
