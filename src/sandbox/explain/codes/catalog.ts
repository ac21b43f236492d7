import { parsedUrl } from '../../../base/text/foreign-url.js'
import { cartLines } from '../../../market/carts/cart.js'
import type { CatalogItemRow } from '../../../market/catalog/item-row.js'
import { catalogItems } from '../../../market/catalog/item-row.js'
import { dispatchParameters } from '../../../market/catalog/parameter.js'
import { purchases } from '../../../market/purchases/receipt-row.js'
import { payments } from '../../../payments/payments/payment.js'
import type { Explainers } from '../facts/explainer.js'
import type { ExampleCall, Fix } from '../facts/explanation.js'
import { commodityIn, itemIn } from '../facts/price.js'
import {
  corrected,
  first,
  firstBoth,
  isFields,
  type RefusedRequest,
  responseText,
  saidNumber,
  sentText,
} from '../facts/refused-request.js'
import { declaredArguments, fittingArguments, requiredArguments } from '../facts/samples.js'
import { listText, money, ownerText, shownAmount } from '../facts/words.js'

/** Catalog items, their arguments, and the endpoints of their sellers. */
export const catalogExplainers = {
  async item_archived(asked) {
    const item = await soldItem(asked)
    return {
      sentences: [await aboutItem(asked, item), 'It is archived, so it cannot change. Restore it first.'],
      facts: itemFacts(item),
      fix:
        item &&
        first(asked, 'restoreCatalogItem', {
          method: 'POST',
          path: `/v4/catalog/items/${item.id}/restore`,
          as: `account:${item.account_id}`,
        }),
    }
  },

  async item_not_archived(asked) {
    const item = await soldItem(asked)
    return {
      sentences: [
        await aboutItem(asked, item),
        `It is not archived, and ${item?.active ? 'active, so nothing is left to restore' : 'inactive, so turn it on'}.`,
      ],
      facts: itemFacts(item),
      fix: item && !item.active ? changeItem(asked, item, { active: true }, null) : undefined,
    }
  },

  async item_inactive(asked) {
    const item = await soldItem(asked)
    const change = { ...(item && !item.active && { active: true }), ...(item?.private && { private: false }) }
    const why = item?.archived ? 'archived' : item?.active ? 'private, so only its own account sells it' : 'inactive'
    return {
      sentences: [
        await aboutItem(asked, item),
        `At that moment, it was ${why}. Nothing was charged.`,
        ...(item?.archived ? ['Restoring leaves it inactive, so restore it and then turn it on.'] : []),
      ],
      facts: itemFacts(item),
      fix:
        item &&
        (item.archived
          ? firstBoth(asked, 'restoreCatalogItem', [
              { method: 'POST', path: `/v4/catalog/items/${item.id}/restore`, as: `account:${item.account_id}` },
              changing(item, { active: true, ...(item.private && { private: false }) }),
            ])
          : changeItem(asked, item, change)),
    }
  },

  async arguments_refused(asked) {
    const item = await soldItem(asked)
    const [argument, reason] = [responseText(asked, 'argument'), responseText(asked, 'reason')]
    const schema = item?.service_schema ?? {}
    const [names, required] = [Object.keys(declaredArguments(schema)), requiredArguments(schema)]
    const given = isFields(asked.body.arguments) ? asked.body.arguments : {}
    const declared = names.map((name) => `\`${name}\`${required.includes(name) ? ' (required)' : ''}`)
    const undeclared = Object.keys(given).filter((name) => !names.includes(name))
    return {
      sentences: [
        `${await aboutItem(asked, item)} It takes ${names.length === 0 ? 'no arguments' : listText(declared)}.`,
        `The request sent ${JSON.stringify(given)}.`,
        ...(undeclared.length > 0 ? [`The item does not declare ${listText(undeclared)}.`] : []),
        ...(reason === undefined ? [] : [`${argument ?? 'All arguments'}: ${reason}`]),
      ],
      facts: { ...itemFacts(item), argument: argument ?? null, reason: reason ?? null, sent: given, schema },
      fix: corrected(asked, { body: { arguments: fittingArguments(schema, given, argument?.split('/')[0]) } }),
    }
  },

  async schema_refused(asked) {
    const item = await soldItem(asked)
    return {
      sentences: [await aboutItem(asked, item), 'Its JSON Schema cannot be checked. Its seller simplifies it.'],
      facts: { ...itemFacts(item), schema: item?.service_schema ?? null },
      fix: item && changeItem(asked, item, { service_schema: { type: 'object', properties: {} } }),
    }
  },

  async parameter_unreadable(asked) {
    const item = await soldItem(asked)
    const rows = item ? await asked.tx.find(dispatchParameters, { index: 'byItem', prefix: [item.id], limit: 50 }) : []
    const named = [...(item?.external_endpoint.matchAll(/\{secret\.(\w+)\}/g) ?? [])].map(([, name]) => name ?? '')
    const names = [...new Set([...rows.map(({ name }) => name), ...named])]
    return {
      sentences: [
        `${await aboutItem(asked, item)} Its endpoint needs ${named.length === 0 ? 'its stored parameters' : listText(named)}, and ${rows.length === 0 ? 'none is stored' : `${listText(rows.map(({ name }) => name))} ${rows.length === 1 ? 'is' : 'are'} stored`}.`,
        'Values are stored encrypted. The seller enters them again.',
      ],
      facts: { ...itemFacts(item), needed: named, stored: rows.map(({ name, kind }) => ({ name, kind })) },
      fix:
        item &&
        first(asked, 'replaceDispatchParameters', {
          method: 'PUT',
          path: `/v4/catalog/items/${item.id}/parameters`,
          as: `account:${item.account_id}`,
          body: {
            parameters: names.map((name) => ({
              kind: rows.find((row) => row.name === name)?.kind ?? 'url',
              name,
              value: 'example',
              sensitive: false,
            })),
          },
        }),
    }
  },

  async upstream_refused(asked) {
    const item = await soldItem(asked)
    const text =
      sentText(asked, 'external_endpoint') ??
      sentText(asked, 'serviceUrl') ??
      sentText(asked, 'service_url') ??
      item?.external_endpoint
    const host = text === undefined ? undefined : parsedUrl(text)?.hostname
    const field = ['external_endpoint', 'serviceUrl', 'service_url'].find((name) => name in asked.body)
    const rule = asked.service.sandbox?.isServed
      ? 'public hosts and this machine'
      : 'every host that this process can reach'
    return {
      sentences: [
        `The URL is ${text ?? 'not shown'}. This sandbox may call ${rule}, and never addresses of cloud metadata.`,
        ...(host === undefined
          ? []
          : [
              `To allow the host, start the sandbox with \`--allow-upstream ${host}\`, or \`createService({ allowUpstream: ['${host}'] })\`.`,
            ]),
      ],
      facts: {
        url: text ?? null,
        host: host ?? null,
        flag: host === undefined ? null : `--allow-upstream ${host}`,
        served: asked.service.sandbox?.isServed ?? false,
      },
      fix: field === undefined ? undefined : corrected(asked, { body: { [field]: 'https://api.example.test/' } }),
    }
  },

  async upstream_failed(asked) {
    const item = await soldItem(asked)
    const id = saidNumber(asked, 'transaction_id')
    const [payment, purchase] =
      id === undefined ? [] : [await asked.tx.get(payments, id), await asked.tx.get(purchases, id)]
    const [, status] = /service answered (\d+)/.exec(responseText(asked, 'error') ?? '') ?? []
    const calls = asked.entry.caused.filter(({ kind }) => kind === 'upstream')
    return {
      sentences: [
        item
          ? `${await aboutItem(asked, item)} Its endpoint is ${item.service_method} ${item.external_endpoint}.`
          : `The call went to ${sentText(asked, 'serviceUrl') ?? 'an upstream service'}.`,
        ...(calls.length > 0
          ? [
              `The service called ${listText(calls.map((call) => String(call.id)))}${status === undefined ? ', and got no answer that it could use' : `, which answered ${status}`}.`,
            ]
          : []),
        ...(payment
          ? [`Payment ${payment.id} of ${await money(asked.tx, payment.dq, payment.amount)} is \`${payment.status}\`.`]
          : []),
        'Let the endpoint answer with a status below 500 within the time limit, then repeat the request.',
      ],
      facts: {
        ...itemFacts(item),
        endpoint: item?.external_endpoint ?? sentText(asked, 'serviceUrl') ?? null,
        payment: payment
          ? { id: payment.id, status: payment.status, amount: await shownAmount(asked.tx, payment.dq, payment.amount) }
          : null,
        purchase: purchase?.id ?? null,
        upstream_status: status === undefined ? null : Number(status),
        upstream_ms: asked.service.limits.upstreamMs,
      },
      fix: corrected(asked, { headers: { 'idempotency-key': `key-${asked.entry.id}` } }),
    }
  },
} satisfies Explainers

/** The item that a request buys or changes: named, of the refused line of a cart, or by the commodity. */
async function soldItem(asked: RefusedRequest): Promise<CatalogItemRow | undefined> {
  const line = saidNumber(asked, 'line')
  if (line !== undefined && asked.operation?.path.startsWith('/carts/')) {
    const [row] = await asked.tx.find(cartLines, { index: 'byCart', prefix: [Number(asked.params.id), line], limit: 1 })
    return row && asked.tx.get(catalogItems, row.catalog_item_id)
  }
  const named = await itemIn(asked)
  if (named) return named
  const commodity = await commodityIn(asked)
  const [item] = commodity
    ? await asked.tx.find(catalogItems, { index: 'byCommodity', prefix: [commodity.id], limit: 1 })
    : []
  return item
}

async function aboutItem({ tx }: RefusedRequest, item: CatalogItemRow | undefined): Promise<string> {
  if (!item) return 'The journal does not show which item this is.'
  return `Catalog item ${item.id}, “${item.name}”, belongs to ${await ownerText(tx, `account:${item.account_id}`)}.`
}

const itemFacts = (item: CatalogItemRow | undefined) => ({
  item: item?.id ?? null,
  name: item?.name ?? null,
  account: item?.account_id ?? null,
  active: item?.active ?? null,
  private: item?.private ?? null,
  archived: item?.archived ?? null,
})

const changing = ({ id, account_id }: CatalogItemRow, body: object): ExampleCall => ({
  method: 'PUT',
  path: `/v4/catalog/items/${id}`,
  as: `account:${account_id}`,
  body,
})

/** Changes an item as its seller, and then makes the request. */
function changeItem(asked: RefusedRequest, item: CatalogItemRow, body: object, next?: null): Fix {
  const example = changing(item, body)
  return next === null
    ? { operation_id: 'updateCatalogItem', example, next }
    : first(asked, 'updateCatalogItem', example)
}
