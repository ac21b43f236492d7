import { catalogItems } from '../../../market/catalog/item-row.js'
import { plans } from '../../../market/plans/plan.js'
import { subscriptionOf } from '../../../market/plans/subscription.js'
import { twinByHostname } from '../../../money/twins/twin.js'
import { likelyAccount } from '../facts/credentials.js'
import type { Explainers } from '../facts/explainer.js'
import type { Fix } from '../facts/explanation.js'
import { callingConnection, commodityIn, itemIn, payerIn } from '../facts/price.js'
import {
  askedWait,
  callerOwner,
  corrected,
  first,
  type RefusedRequest,
  responseText,
  saidNumber,
  sentText,
} from '../facts/refused-request.js'
import { type Thing, thingsIn } from '../facts/things.js'
import { listText, ownerText, timeText } from '../facts/words.js'

/** Things that are absent, or that belong to others. */
export const ownerExplainers = {
  async not_found(asked) {
    const things = await thingsIn(asked)
    const wrong = things.find((thing) => !thing.exists) ?? things.find((thing) => isForeign(asked, thing))
    return {
      sentences: [
        ...(wrong
          ? [await aboutThing(asked, wrong)]
          : ['Nothing that the path and the fields name is missing. The address itself may be used or revoked.']),
        ...(wrong && !wrong.exists && wrong.callers.length > 0
          ? [`${asked.entry.principal} had the ${wrong.kind} ${listText(wrong.callers)}.`]
          : []),
        ...(wrong?.exists ? [await howToCall(asked, wrong)] : []),
      ],
      facts: {
        caller: asked.entry.principal,
        named: things.map(({ callers, ...thing }) => thing),
        callers: wrong?.callers ?? [],
      },
      fix: wrong && toRight(asked, wrong),
    }
  },

  async not_owner(asked) {
    const things = await thingsIn(asked)
    const wrong = things.find((thing) => isForeign(asked, thing))
    const connection = await callingConnection(asked)
    const twin = connection && (await payerIn(asked))
    return {
      sentences: [
        ...(wrong ? [await aboutThing(asked, wrong), await howToCall(asked, wrong)] : []),
        ...(twin ? [`Agents of user:${connection.user_id} pay from ${twin.hostname} only.`] : []),
      ],
      facts: {
        caller: asked.entry.principal,
        named: things.map(({ callers, ...thing }) => thing),
        agent_twin: twin?.hostname ?? null,
      },
      fix: wrong && asOwner(asked, wrong),
    }
  },

  async twin_unknown(asked) {
    const [wrong] = (await thingsIn(asked)).filter(({ field }) => field === 'twin_id')
    const owner = callerOwner(asked)
    const [hostname] = wrong?.callers ?? []
    const own = hostname === undefined ? undefined : await twinByHostname(asked.tx, hostname)
    return {
      sentences: [
        ...(wrong ? [await aboutThing(asked, wrong)] : []),
        own
          ? `${owner} has the twin ${own.id} (${own.hostname}).`
          : `${owner ?? 'The caller'} has no twin. Create one.`,
      ],
      facts: {
        twin_id: wrong?.value ?? null,
        owners: wrong?.owners ?? [],
        own: own ? { id: own.id, hostname: own.hostname } : null,
      },
      fix: own && corrected(asked, { body: { twin_id: own.id } }),
    }
  },

  async plan_limit_reached(asked) {
    const item = await itemIn(asked)
    const account = item?.account_id ?? Number(callerOwner(asked)?.split(':')[1] ?? (await likelyAccount(asked)) ?? 0)
    const { plan } = await subscriptionOf(asked.tx, account)
    const next = plan === 'free' ? plans.growth : plans.scale
    const [used, limit] = [saidNumber(asked, 'used'), saidNumber(asked, 'limit')]
    const resets = saidNumber(asked, 'resets_at')
    return {
      sentences: [
        `${await ownerText(asked.tx, `account:${account}`)} has the plan ${plans[plan].name}, which allows ${limit ?? 'no more'} ${responseText(asked, 'of') === 'mcp_calls' ? 'MCP calls a month' : 'active items'}. ${used ?? 'All'} were used.`,
        `The plan ${next.name} allows ${next.limits[responseText(asked, 'of') === 'mcp_calls' ? 'mcp_calls' : 'active_items'] ?? 'any number'}.`,
        ...(resets === undefined ? [] : [`The count starts again at ${timeText(resets * 1000)}.`]),
      ],
      facts: { account, plan, of: responseText(asked, 'of') ?? null, used, limit, resets_at: resets ?? null },
      fix: first(asked, 'updatePlan', {
        method: 'PUT',
        path: '/v4/billing/plan',
        as: `account:${account}`,
        body: { plan: next.id, payment_method_id: 'pm_card_visa' },
      }),
    }
  },

  async too_many_new(asked) {
    const wait = askedWait(asked, 86_400)
    const of = (responseText(asked, 'of') ?? 'things').replaceAll('_', ' ')
    const isBytes = of === 'stored bytes'
    const { newPerDay } = asked.service.limits
    const most = saidNumber(asked, 'limit') ?? newPerDay
    const option = isBytes ? 'limits.storedBytesPerDay' : most === newPerDay ? 'limits.newPerDay' : null
    const owner = callerOwner(asked)
    return {
      sentences: [
        `${owner === null ? 'The address of the caller' : await ownerText(asked.tx, owner)} has reached the limit of ${most} ${isBytes ? of : `new ${of}`} a day${option === null ? '' : `, \`${option}\``}. What an unproven user creates counts for the account that created the user.`,
        `The next one is possible after ${wait} seconds.`,
      ],
      facts: { of, most, option, retry_after: wait },
    }
  },

  async sold_by_item(asked) {
    const commodity = await commodityIn(asked)
    const [item] = commodity
      ? await asked.tx.find(catalogItems, { index: 'byCommodity', prefix: [commodity.id], limit: 1 })
      : []
    return {
      sentences: [
        `${item ? `Catalog item ${item.id}, “${item.name}”,` : 'A catalog item'} sells the commodity ${commodity?.descriptor ?? sentText(asked, 'hash')}, so it keeps charging.`,
        'Create another commodity with `payback: true`.',
      ],
      facts: {
        hash: commodity?.id ?? null,
        descriptor: commodity?.descriptor ?? null,
        twin_id: commodity?.twin_id ?? null,
        item: item?.id ?? null,
      },
      fix: commodity && {
        operation_id: 'createCommodity',
        example: {
          method: 'POST',
          path: '/v4/commodity',
          as: commodity.owner,
          body: { descriptor: 'READER.REWARD', dq: commodity.dq, cost: 0.1, twin_id: commodity.twin_id, payback: true },
        },
        next: null,
      },
    }
  },
} satisfies Explainers

/** Whether something belongs to others than the caller. What has no owner is public. */
const isForeign = ({ entry: { principal } }: RefusedRequest, { exists, owners }: Thing): boolean =>
  exists && owners.length > 0 && !owners.includes(principal ?? '')

async function aboutThing({ tx, entry }: RefusedRequest, { kind, value, exists, owners }: Thing): Promise<string> {
  if (!exists) return `No ${kind} had the id ${value} at that moment.`
  const named = await Promise.all(owners.map((owner) => ownerText(tx, owner)))
  return `The ${kind} ${value} exists. It belongs to ${listText(named)}, and ${entry.principal ?? 'nobody'} called.`
}

async function howToCall({ tx }: RefusedRequest, { kind, owners }: Thing): Promise<string> {
  const owner = owners.find((each) => /^(account|user):/.test(each))
  if (owner === undefined)
    return `The ${kind} belongs to the session or token that created it. Only that one reaches it.`
  return `Call as ${await ownerText(tx, owner)}: its token comes from POST /v4/${owner.split(':')[0]}/oauth/token.`
}

/** The request by the owner of what it names, or for something of the same kind that the caller has. */
function toRight(asked: RefusedRequest, wrong: Thing): Fix | undefined {
  if (wrong.exists) return asOwner(asked, wrong)
  const [own] = wrong.callers
  if (own === undefined) return undefined
  if (wrong.field in asked.params)
    return corrected(asked, {
      path: asked.entry.path.replace(encodeURIComponent(wrong.value), encodeURIComponent(own)),
    })
  return corrected(asked, { body: { [wrong.field]: /^\d+$/.test(own) ? Number(own) : own } })
}

/** The request by the owner, or without the twin that is not the caller's. */
function asOwner(asked: RefusedRequest, { field, owners }: Thing): Fix | undefined {
  if (field === 'hostname' && 'hostname' in asked.body) return corrected(asked, { body: { hostname: undefined } })
  const owner = owners.find((each) => /^(account|user):/.test(each))
  return owner === undefined ? undefined : corrected(asked, { as: owner })
}
