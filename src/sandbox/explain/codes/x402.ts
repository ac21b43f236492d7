import { paymentIdentifiers } from '../../../agents/paid-calls/payment-identifier-row.js'
import type { NamedPayment } from '../../../agents/paid-calls/payment-name.js'
import type { TransferAuthorization } from '../../../agents/wallets/evm.js'
import { findUsdc, quantityOfToken } from '../../../agents/wallets/networks.js'
import { checkTransfer, type SignedTransfer } from '../../../agents/wallets/transfer.js'
import { callerOfAddress, twinOfAddress } from '../../../agents/wallets/wallet.js'
import { FacilitatorBody, facilitatedPayment } from '../../../agents/x402/facilitator-body.js'
import { transferIn } from '../../../agents/x402/payload.js'
import { namedPayment } from '../../../agents/x402/payment-identifier.js'
import { Problem } from '../../../base/problem.js'
import { z } from '../../../http/fields/schema.js'
import { catalogItems } from '../../../market/catalog/item-row.js'
import { commodities } from '../../../money/commodities/commodity.js'
import { digitalQuantities } from '../../../money/digital-quantities/digital-quantity.js'
import { moneyText, toUnits } from '../../../money/ledger/amount.js'
import { balanceOf, spendable } from '../../../money/ledger/movement.js'
import { payments } from '../../../payments/payments/payment.js'
import { isObject } from '../../../storage/unknown.js'
import type { Explained } from '../facts/explanation.js'
import { answered, type Explainers, type RefusedRequest } from '../facts/refused-request.js'
import { money, ownerText, shownAmount, timeText } from '../facts/words.js'

/** Refusals of payments that are errors. */
export const x402Explainers = {
  async payment_required(asked) {
    const item = await asked.get(catalogItems, Number(asked.idIn('items')))
    const commodity = await asked.get(commodities, item?.hash)
    if (commodity) return { item: item?.id, price: await money(asked.tx, commodity.dq, commodity.cost) }
    const { amount, destination, dq } = asked.body
    const quantity = await (typeof dq === 'string' ? asked.get(digitalQuantities, dq) : findUsdc(asked.tx))
    const price =
      quantity && typeof amount === 'number' ? moneyText(toUnits(amount, quantity.decimals), quantity) : undefined
    return { price, destination, service: asked.body.serviceUrl }
  },
  async payment_identifier_mismatch(asked) {
    const { transfer, named } = readIn(asked) ?? {}
    const row = await asked.get(paymentIdentifiers, named?.id)
    const payment = await asked.get(payments, row?.payment_id)
    const amount = payment && (await money(asked.tx, payment.dq, payment.amount))
    const { id, created_at: paid_at, descriptor } = payment ?? {}
    return { payer: transfer?.authorization.from, payment: id, amount, paid_at, descriptor }
  },
} satisfies Explainers

/** Explains why a facilitator refused a payment. That is an answer with status 200, so it has no error code. */
export async function explainX402(
  asked: RefusedRequest,
): Promise<(Explained & { readonly reason: string }) | undefined> {
  const { invalidReason, errorReason, invalidMessage, errorMessage } = answered(asked.entry)
  const [reason, message] = [invalidReason ?? errorReason, invalidMessage ?? errorMessage]
  if (typeof reason !== 'string') return undefined
  const { transfer } = readIn(asked) ?? {}
  const found = transfer && (await stateOf(asked, transfer))
  return {
    reason,
    sentences: [String(message), ...(found?.sentences ?? [])],
    facts: { reason, message, ...found?.facts },
    fix: found?.fix,
  }
}

/** What was signed, and what the payer called it. The journal does not show the signature. */
function readIn({
  body,
  service,
}: RefusedRequest): { transfer: SignedTransfer; named?: NamedPayment | undefined } | undefined {
  const { paymentPayload: payload } = body
  if (!isObject(payload) || !isObject(payload.payload)) return undefined
  const shown = { ...body, paymentPayload: { ...payload, payload: { ...payload.payload, signature: '0x' } } }
  const parsed = z.safeParse(FacilitatorBody, shown)
  if (!parsed.success) return undefined
  try {
    const { sent, due } = facilitatedPayment(parsed.data)
    const transfer = transferIn(sent, due, service.dialects)
    if (typeof transfer === 'string') return undefined
    return { transfer, named: namedPayment(sent, due, transfer.authorization.from) }
  } catch (error) {
    if (error instanceof Problem) return undefined
    throw error
  }
}

async function stateOf(asked: RefusedRequest, transfer: SignedTransfer): Promise<Explained> {
  const { tx } = asked
  const { authorization, token, network } = transfer
  const { from, value } = authorization
  const checked = await checkTransfer(tx, transfer)
  const spent = 'refused' in checked ? checked.earlier : undefined
  const twin = await twinOfAddress(tx, from)
  const quantity = await quantityOfToken(tx, token, network)
  const caller = await callerOfAddress(tx, from)
  const held = twin && quantity ? spendable(await balanceOf(tx, twin.id, quantity.id)) : 0n
  const price = quantity && (await money(tx, quantity.id, value))
  const sentences = [
    timesOf(authorization, asked.at),
    spent && `Payment ${spent.id} spent this authorization at ${timeText(spent.created_at)}.`,
    !twin && `No twin had the address ${from} at that moment.`,
    twin && `The address ${from} pays from ${twin.hostname}, of ${await ownerText(tx, twin.owner)}.`,
    twin && quantity && `It held ${await money(tx, quantity.id, held)}, and the payment is of ${price}.`,
    caller && `It pays as ${caller.party.kind === 'agent' ? `the app ${caller.party.client_id}` : caller.party.kind}.`,
  ]
  const missing = quantity && !spent && held < value ? await shownAmount(tx, quantity.id, value - held) : undefined
  return {
    sentences: sentences.filter((sentence) => typeof sentence === 'string'),
    facts: {
      ...{ payer: from, hostname: twin?.hostname, owner: twin?.owner, dq: quantity?.id },
      ...(quantity && {
        held: await shownAmount(tx, quantity.id, held),
        due: await shownAmount(tx, quantity.id, value),
      }),
      ...(spent && { spent_by: spent.id }),
    },
    fix:
      missing === undefined
        ? undefined
        : asked.first('POST /_sandbox/fund', { body: { address: from, amount: missing, dq: quantity?.id } }),
  }
}

/** Undefined if the time was right. */
function timesOf({ validAfter, validBefore }: TransferAuthorization, at: number): string | undefined {
  const now = BigInt(Math.floor(at / 1000))
  if (validAfter <= now && validBefore >= now + 6n) return undefined
  return `It was signed for the time from ${unixText(validAfter)} until ${unixText(validBefore)}, and the service's clock said ${timeText(at)}.`
}

const unixText = (seconds: bigint): string =>
  seconds > 253_402_300_799n ? 'the far future' : timeText(Number(seconds) * 1000)
