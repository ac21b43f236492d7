import { Problem, problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import type { PriceQuote } from '../../money/commodities/price-quote.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { moneyText, toUnits } from '../../money/ledger/amount.js'
import type { Reader } from '../../storage/storage.js'
import { appFields, clientById, type ShownApp, shownApp } from '../oidc/clients/client.js'
import { awaitSecondFactor, spendAwaited, type UserSession } from '../second-factor/await-second-factor.js'
import type { AuthenticationRequestRow } from '../second-factor/request.js'
import type { Detail } from '../second-factor/wording.js'
import {
  type ApprovalRow,
  approvalOfUser,
  approvalStatus,
  type CartDetail,
  type ChangeDetail,
  decideApproval,
  showToUser,
} from './approval.js'
import { checkApprovedPrice } from './price-detail.js'
import { isRaised, type NewThresholds, setThresholds } from './settings.js'

/** With a session it first waits for the second factor. Throws `not_found`, `not_pending`, `price_changed`, and like `awaitSecondFactor`. */
export async function approveApproval(
  service: ServiceContext,
  { id, userId, session, seen }: { id: string; userId: number; session: UserSession | undefined; seen: PriceQuote },
) {
  const { storage, clock } = service
  const orderOf = async (tx: Reader, row: ApprovalRow, { sessionId }: UserSession) => ({
    ...{ userId, sessionId, action: 'approval' },
    detail: await secondFactorDetail(tx, row),
  })
  let asked: AuthenticationRequestRow | undefined
  if (session) {
    const order = await storage.read(async (tx) => {
      const row = await approvalOfUser(tx, userId, id)
      if (approvalStatus(row, clock.now()) !== 'pending') throw problem('not_pending')
      await checkApprovedPrice(tx, row, seen)
      return orderOf(tx, row, session)
    })
    asked = await awaitSecondFactor(service, order)
  }
  return storage.write(async (tx) => {
    const at = clock.now()
    const row = await approvalOfUser(tx, userId, id)
    await checkApprovedPrice(tx, row, seen)
    if (asked && session) await spendAwaited(tx, asked, await orderOf(tx, row, session), at)
    const decided = await decideApproval(tx, row, { decision: 'approved', at })
    if (decided instanceof Problem) throw decided
    return showToUser(decided, service)
  })
}

/** Stores new thresholds. A session that raises one first waits for the second factor. Throws like `setThresholds`, `awaitSecondFactor`. */
export async function updateAgentSettings(
  service: ServiceContext,
  { userId, thresholds, session }: { userId: number; thresholds: NewThresholds; session: UserSession | undefined },
) {
  const { storage, clock } = service
  const order = session && (await storage.read((tx) => secondFactorOrderOf(tx, thresholds, session)))
  const asked = order && (await awaitSecondFactor(service, order))
  return storage.write(async (tx) => {
    const at = clock.now()
    if (asked && order) await spendAwaited(tx, asked, order, at)
    // If another request lowered a threshold meanwhile, this one would raise it without a second factor.
    else if (session && (await isRaised(tx, userId, thresholds))) throw problem('approval_timeout')
    return setThresholds(tx, userId, { thresholds, at })
  })
}

/** The second factor that a session needs to raise a threshold. Returns undefined if it raises none. */
async function secondFactorOrderOf(tx: Reader, thresholds: NewThresholds, { userId, sessionId }: UserSession) {
  if (!(await isRaised(tx, userId, thresholds))) return undefined
  return { userId, sessionId, action: 'agent_settings', detail: await thresholdDetail(tx, thresholds) }
}

/** What the second factor shows of an approval: everything that it allows, payee and amount first. */
export const secondFactorDetail = async (tx: Reader, row: ApprovalRow): Promise<Detail> => ({
  ...appFields(await appOf(tx, row)),
  request: row.summary,
  ...describeTerms(row),
  approval: row.id,
})

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

/** What the second factor shows of thresholds: `1.00 USD`. Throws `dq_unknown`, `amount_invalid`. */
async function thresholdDetail(tx: Reader, thresholds: NewThresholds): Promise<Detail> {
  const prices: string[] = []
  for (const [dq, amount] of Object.entries(thresholds)) {
    const quantity = await quantityOf(tx, dq)
    prices.push(moneyText(toUnits(amount, quantity.decimals), quantity))
  }
  return { without_approval: prices.join(', ') }
}
