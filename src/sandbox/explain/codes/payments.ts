import { type DelegateRow, delegates, isDelegateValid, revokedAt } from '../../../consent/personas/delegate.js'
import { delegateSpendings } from '../../../consent/personas/spending.js'
import { catalogItems } from '../../../market/catalog/item-row.js'
import { digitalQuantities } from '../../../money/digital-quantities/digital-quantity.js'
import { balanceOf, spendable } from '../../../money/ledger/balance.js'
import { primaryTwin, twins } from '../../../money/twins/twin.js'
import { paybacks } from '../../../payments/payments/payback.js'
import { payments } from '../../../payments/payments/payment.js'
import type { Explainers } from '../facts/explainer.js'
import type { Fix } from '../facts/explanation.js'
import { commodityIn, priceOf } from '../facts/price.js'
import {
  again,
  callerId,
  callerOwner,
  corrected,
  first,
  REDACTED,
  type RefusedRequest,
  responseText,
  saidNumber,
  sent,
  sentDelegate,
  sentText,
} from '../facts/refused-request.js'
import { endText, holdings, listText, money, named, ownerText, shownAmount, timeText } from '../facts/words.js'

/** Value that does not move. */
export const paymentExplainers = {
  async insufficient_funds(asked) {
    const price = await priceOf(asked)
    const short = price && (await shortage(asked, price.sums, price.payer?.id))
    if (!price?.payer || !short) return withoutTwin(asked)
    const { dq, missing, cost } = short
    const held = await holdings(asked.tx, price.payer, dq)
    const others = await asked.tx.find(twins, { index: 'byOwner', prefix: [price.payer.owner], limit: 5 })
    return {
      sentences: [
        `${price.payer.hostname} of ${await ownerText(asked.tx, price.payer.owner)} could spend ${held.spendable} at that moment, and ${price.what} costs ${await money(asked.tx, dq, cost)}.`,
        ...(held.held > 0
          ? [`Its balance was ${held.balance}, of which ${held.held} was held for what is pending.`]
          : []),
        ...(others.length > 1
          ? [`The payer has ${others.length} twins. Without \`hostname\`, the first one pays.`]
          : []),
        `${await money(asked.tx, dq, missing)} is missing.`,
      ],
      facts: {
        payer: held,
        cost: await shownAmount(asked.tx, dq, cost),
        missing: await shownAmount(asked.tx, dq, missing),
        dq,
      },
      fix: first(asked, 'fundTwin', {
        method: 'POST',
        path: '/_sandbox/fund',
        body: { hostname: price.payer.hostname, amount: await shownAmount(asked.tx, dq, missing), dq },
      }),
    }
  },

  async same_twin(asked) {
    const price = await priceOf(asked)
    const twin = price?.payer ?? price?.payee
    const others = twin ? await asked.tx.find(twins, { index: 'byOwner', prefix: [twin.owner], limit: 5 }) : []
    const other = others.find(({ id }) => id !== twin?.id)
    const takesHostname = 'hostname' in (asked.operation?.body?.shape ?? {})
    return {
      sentences: [
        `${twin?.hostname ?? 'One twin'}${twin ? ` of ${await ownerText(asked.tx, twin.owner)}` : ''} is both payer and payee.`,
        ...(other ? [`The payer also has ${other.hostname}.`] : []),
      ],
      facts: { hostname: twin?.hostname ?? null, owner: twin?.owner ?? null, other: other?.hostname ?? null },
      fix:
        other && takesHostname
          ? corrected(asked, { body: { hostname: other.hostname } })
          : await toAnotherTwin(asked, twin?.owner),
    }
  },

  async dq_unknown(asked) {
    const dq = sentText(asked, 'dq')
    const known = await asked.tx.find(digitalQuantities, { index: 'byNumber', prefix: [], limit: 20 })
    const meant = known.find(({ shortcode, name }) => [shortcode, name].includes(dq ?? '')) ?? known[0]
    return {
      sentences: [
        `No digital quantity had the hash ${dq ?? 'that was sent'}. There ${known.length === 1 ? 'was' : 'were'} ${listText(known.map(({ shortcode }) => shortcode))}.`,
      ],
      facts: { dq: dq ?? null, known: known.map(({ id, shortcode, decimals }) => ({ dq: id, shortcode, decimals })) },
      fix: meant && corrected(asked, 'dq' in asked.query ? { query: { dq: meant.id } } : { body: { dq: meant.id } }),
    }
  },

  async destination_unknown(asked) {
    const to = sent(asked, 'destination')
    const known = (await asked.tx.find(twins, { index: 'id', prefix: [], limit: 50, reverse: true })).filter(
      ({ owner }) => owner.startsWith('account:') && owner !== callerOwner(asked),
    )
    return {
      sentences: [
        to === undefined
          ? 'The request named neither a payee nor an upstream service.'
          : `No twin had the hostname ${JSON.stringify(to)}.`,
        ...(known.length > 0
          ? [`The twins of sellers were ${listText(known.slice(0, 5).map(({ hostname }) => hostname))}.`]
          : []),
      ],
      facts: { destination: to ?? null, known: known.slice(0, 5).map(({ hostname, owner }) => ({ hostname, owner })) },
      fix: known[0] && corrected(asked, { body: { destination: known[0].hostname } }),
    }
  },

  async price_changed(asked) {
    const [price, dq] = [saidNumber(asked, 'price'), responseText(asked, 'dq')]
    const lines = Array.isArray(asked.refusal.lines) ? asked.refusal.lines : undefined
    const commodity = await commodityIn(asked)
    const name = 'cost' in asked.body || asked.entry.operation_id === 'createPayment' ? 'cost' : 'price'
    const saw = asked.body[name] ?? asked.body.price
    const present = lines
      ? asked.body.lines === undefined
        ? { accept_prices: true }
        : { lines }
      : { [name]: price, dq }
    return {
      sentences: [
        lines
          ? `The prices of ${lines.length === 1 ? 'a line' : `${lines.length} lines`} of cart ${asked.params.id} are not those that the payer saw.`
          : price === undefined
            ? 'The price is not the one that the payer saw.'
            : `The payer saw ${saw === undefined ? 'another digital quantity' : String(saw)}${commodity ? `, and ${commodity.descriptor} costs ${await money(asked.tx, commodity.dq, commodity.cost)}` : `, and the price is ${price}`}.`,
        'Show the new price to the payer, and repeat the request with it.',
      ],
      facts: {
        seen: saw ?? asked.body.lines ?? null,
        price: price ?? null,
        dq: dq ?? null,
        lines: lines ?? null,
        hash: commodity?.id ?? null,
      },
      fix: corrected(asked, { body: present }),
    }
  },

  async payback_only(asked) {
    const commodity = await commodityIn(asked)
    return {
      sentences: [
        `${named('commodity', commodity?.descriptor)} pays its readers ${commodity ? await money(asked.tx, commodity.dq, commodity.cost) : 'its price'} instead of charging them.`,
      ],
      facts: {
        hash: commodity?.id ?? null,
        descriptor: commodity?.descriptor ?? null,
        payback: true,
        seller: commodity?.owner ?? null,
      },
      fix: commodity && {
        operation_id: 'createPayback',
        example: { method: 'POST', path: `/v4/payback/${commodity.id}`, as: asked.entry.principal ?? '', body: {} },
        next: null,
      },
    }
  },

  async payback_refused(asked) {
    const commodity = await commodityIn(asked)
    const [item] = commodity
      ? await asked.tx.find(catalogItems, { index: 'byCommodity', prefix: [commodity.id], limit: 1 })
      : []
    return {
      sentences: [
        `${named('commodity', commodity?.descriptor)} of ${commodity ? await ownerText(asked.tx, commodity.owner) : 'its seller'} does not pay its readers.`,
        item
          ? `Catalog item ${item.id} sells it, so it cannot. Create another commodity with \`payback: true\`.`
          : 'Its seller can turn that on.',
      ],
      facts: {
        hash: commodity?.id ?? null,
        descriptor: commodity?.descriptor ?? null,
        seller: commodity?.owner ?? null,
        payback: false,
        item: item?.id ?? null,
      },
      fix:
        commodity && !item
          ? first(asked, 'updatePayback', {
              method: 'PUT',
              path: `/v4/commodity/${commodity.id}/payback`,
              as: commodity.owner,
              body: { enabled: true },
            })
          : undefined,
    }
  },

  async payback_taken(asked) {
    const commodity = await commodityIn(asked)
    const owner = callerOwner(asked)
    const taken = commodity && owner && (await asked.tx.get(paybacks, `${commodity.id}:${owner}`))
    const payment = taken ? await asked.tx.get(payments, taken.payment_id) : undefined
    return {
      sentences: [
        `${named('commodity', commodity?.descriptor)} had paid ${owner ? await ownerText(asked.tx, owner) : 'the user'} before${payment ? `: payment ${payment.id} at ${timeText(payment.created_at)}` : ''}.`,
        'It pays each user once.',
      ],
      facts: {
        hash: commodity?.id ?? null,
        user: owner,
        payment: payment?.id ?? null,
        paid_at: payment ? timeText(payment.created_at) : null,
      },
      fix: payment && {
        operation_id: 'readPayment',
        example: { method: 'GET', path: `/v4/payments/${payment.id}`, as: owner ?? '' },
        next: null,
      },
    }
  },

  async delegate_required(asked) {
    const found = await delegatesFor(asked)
    const [usable] = found
    return {
      sentences: [
        `${asked.entry.principal ?? 'A page'} pays for someone else, and sent no \`persona_delegate\`.`,
        usable
          ? `${delegateText(usable)} lets this caller spend.`
          : 'No delegate lets this caller spend. A user gives one with POST /v4/persona/{hash}/delegate and `spend`.',
      ],
      facts: {
        principal: asked.entry.principal,
        delegates: found.map(({ persona, issue, persona_owner }) => ({ persona, issue, owner: persona_owner })),
      },
      fix: usable && withDelegate(asked),
    }
  },

  async delegate_refused(asked) {
    const row = await asked.tx.get(delegates, sentDelegate(asked) ?? '')
    const { spend } = row ?? {}
    const price = await priceOf(asked)
    const ended = row ? await revokedAt(asked.tx, row) : null
    if (!row || !spend) return unknownDelegate(asked, row !== undefined)
    const period =
      spend.period === null ? 'all' : new Date(asked.at).toISOString().slice(0, spend.period === 'day' ? 10 : 7)
    const spent = (await asked.tx.get(delegateSpendings, `${row.id}:${period}`))?.spent ?? '0'
    const [[dq, cost] = [spend.dq, 0n]] = price?.sums ?? []
    const limit = BigInt(spend.limit) > BigInt(spent) + cost ? BigInt(spend.limit) : BigInt(spent) + cost
    return {
      sentences: [
        `The delegate of ${await ownerText(asked.tx, row.persona_owner)} lets its party spend ${await money(asked.tx, spend.dq, spend.limit)}${spend.period === null ? ' altogether' : ` each ${spend.period}`}. ${await money(asked.tx, spend.dq, spent)} had been spent.`,
        ...(price ? [`${price.what} costs ${await money(asked.tx, dq, cost)}.`] : []),
        ...(ended === null ? [] : [`It was revoked at ${timeText(ended)}.`]),
        ...(spend.expires_at === null ? [] : [`It ${endText(spend.expires_at, asked.at)}.`]),
        ...(dq === spend.dq ? [] : ['The payment is in another digital quantity than the delegate.']),
      ],
      facts: {
        persona: row.persona,
        issue: row.issue,
        owner: row.persona_owner,
        party: spend.party,
        dq: spend.dq,
        limit: await shownAmount(asked.tx, spend.dq, spend.limit),
        spent: await shownAmount(asked.tx, spend.dq, spent),
        left: await shownAmount(asked.tx, spend.dq, BigInt(spend.limit) - BigInt(spent)),
        cost: price ? await shownAmount(asked.tx, dq, cost) : null,
        period: spend.period,
        revoked_at: ended === null ? null : timeText(ended),
        expires_at: spend.expires_at === null ? null : timeText(spend.expires_at),
      },
      fix: first(
        asked,
        'createDelegate',
        {
          method: 'POST',
          path: `/v4/persona/${row.persona}/delegate`,
          as: row.persona_owner,
          body: {
            hostname: row.hostname,
            spend: { party: spend.party, dq, limit: await shownAmount(asked.tx, dq, limit), period: spend.period },
          },
        },
        again(asked, { body: { persona_delegate: '{hash}' } }),
      ),
    }
  },
} satisfies Explainers

/** The first digital quantity of which the payer has too little, and how much is missing. */
async function shortage({ tx }: RefusedRequest, sums: ReadonlyMap<string, bigint>, payer: number | undefined) {
  for (const [dq, cost] of sums) {
    const missing = cost - (payer === undefined ? 0n : spendable(await balanceOf(tx, payer, dq)))
    if (missing > 0n) return { dq, cost, missing }
  }
  return undefined
}

/** The payer has no twin, or the journal does not show which twin pays. */
async function withoutTwin(asked: RefusedRequest) {
  const owner = callerOwner(asked)
  const twin = owner === null ? undefined : await primaryTwin(asked.tx, owner)
  const [quantity] = await asked.tx.find(digitalQuantities, { index: 'byNumber', prefix: [], limit: 1 })
  const held = twin && quantity && (await holdings(asked.tx, twin, quantity.id))
  return {
    sentences: [
      twin
        ? `${twin.hostname} of ${owner} pays, and could spend ${held?.spendable ?? 0}.`
        : `${owner ?? 'The caller'} has no twin to pay from. Create one first, then fund it.`,
    ],
    facts: { payer: held ?? null, owner },
    fix: twin
      ? first(asked, 'fundTwin', {
          method: 'POST',
          path: '/_sandbox/fund',
          body: { hostname: twin.hostname, amount: 100 },
        })
      : quantity &&
        first(asked, 'createTwin', {
          method: 'POST',
          path: '/v4/twin',
          ...(owner && { as: owner }),
          body: { dq: quantity.id },
        }),
  }
}

/** The payment to a twin of someone else, for calls that name their payee. */
async function toAnotherTwin(asked: RefusedRequest, owner: string | undefined): Promise<Fix | undefined> {
  const name = ['destination', 'address'].find((each) => each in asked.body)
  const found = await asked.tx.find(twins, { index: 'id', prefix: [], limit: 50 })
  const other = found.find((twin) => /^(account|user):/.test(twin.owner) && twin.owner !== owner)
  return name === undefined || !other ? undefined : corrected(asked, { body: { [name]: other.hostname } })
}

/** Delegates that let the calling account spend, the newest first. */
async function delegatesFor(asked: RefusedRequest) {
  const account = callerId(asked, 'account')
  if (account === undefined) return []
  const found = await asked.tx.find(twins, { index: 'byOwner', prefix: [`account:${account}`], limit: 20 })
  const rows = []
  for (const { id } of found)
    rows.push(...(await asked.tx.find(delegates, { index: 'byTwin', prefix: [id], limit: 20, reverse: true })))
  const valid = []
  for (const row of rows) if (row.spend !== null && (await isDelegateValid(asked.tx, row))) valid.push(row)
  return valid
}

/** A delegate by its number. Its hash would let whoever reads it spend. */
const delegateText = ({ issue, persona, persona_owner }: DelegateRow): string =>
  `Delegate ${issue} of persona ${persona}, which belongs to ${persona_owner},`

/** The request again, with a delegate whose hash the list of its persona shows to its owner. */
const withDelegate = (asked: RefusedRequest): Fix => corrected(asked, { body: { persona_delegate: REDACTED } })

async function unknownDelegate(asked: RefusedRequest, isKnown: boolean) {
  const [usable] = await delegatesFor(asked)
  return {
    sentences: [
      isKnown
        ? 'The delegate proves who someone is, and lets nobody spend.'
        : 'No delegate had the hash of the request at that moment.',
      ...(usable ? [`${delegateText(usable)} lets this caller spend.`] : []),
    ],
    facts: { exists: isKnown, usable: usable ? { persona: usable.persona, issue: usable.issue } : null },
    fix: usable && withDelegate(asked),
  }
}
