import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { toUnits } from '../../money/ledger/amount.js'
import type { Reader } from '../../storage/storage.js'
import { clientById } from '../oidc/clients/client.js'
import { appFields, type ShownApp, shownApp } from '../oidc/clients/shown-app.js'
import type { Detail } from '../second-factor/detail.js'
import type { ApprovalRow, CartDetail, ChangeDetail } from './approval.js'
import { approvalAmountText } from './price-detail.js'
import type { NewThresholds } from './settings.js'

/** What the second factor shows of an approval: everything that it allows, payee and amount first. */
export const secondFactorDetail = async (tx: Reader, row: ApprovalRow): Promise<Detail> => ({
  ...appFields(await appOf(tx, row)),
  request: row.summary,
  ...describeTerms(row),
  approval: row.id,
})

/** The app that requested the approval. */
export async function appOf(tx: Reader, { client_id }: ApprovalRow): Promise<ShownApp> {
  const client = await clientById(tx, client_id)
  return client ? shownApp(client) : { title: client_id, host: null }
}

function describeTerms({ kind, detail }: ApprovalRow): Detail {
  if (kind === 'cart') return describeCart(detail)
  if (kind === 'account_change') return describeChange(detail)
  const { payee, price, amount: _, ...more } = detail
  return { payee, amount: price, ...more }
}

/** Text of sellers comes last in each line, so that it cannot pass for a price or a payee. */
const describeCart = ({ total, lines }: CartDetail): Detail => ({
  payees: [...new Set(lines.map(({ payee }) => payee))].join(', '),
  amount: total,
  ...Object.fromEntries(
    lines.map(({ line, quantity, price, payee, name, arguments: args }) => [
      `line_${line}`,
      `${quantity} at ${price} from ${payee}: ${name} ${JSON.stringify(args)}`,
    ]),
  ),
})

function describeChange({ account, item, new_price, change }: ChangeDetail): Detail {
  const { kind: _, ...fields } = change
  return {
    account: account.name ?? `Account ${account.id}`,
    ...(item && { item: item.name }),
    ...fields,
    ...(new_price !== undefined && { price: new_price }),
  }
}

/** What the second factor shows of thresholds: `1.000 USD`. Throws `dq_unknown`, `amount_invalid`. */
export async function thresholdDetail(tx: Reader, thresholds: NewThresholds): Promise<Detail> {
  const prices: string[] = []
  for (const [dq, amount] of Object.entries(thresholds)) {
    const quantity = await quantityOf(tx, dq)
    prices.push(approvalAmountText(quantity, toUnits(amount, quantity.decimals)))
  }
  return { without_approval: prices.join(', ') }
}
