import { required } from '../../base/required.js'
import type { ServiceContext } from '../../http/context.js'
import type { ShownItem } from '../../market/catalog/item.js'
import { requiredInputs } from '../../market/catalog/schema.js'
import { commodities } from '../../money/commodities/commodity.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { twins } from '../../money/twins/twin.js'
import type { ReadOnce } from '../../storage/page.js'
import { isObject } from '../../storage/unknown.js'
import { offerOn, wayToPay } from '../paid-calls/way-to-pay.js'
import { payToOfEach } from '../wallets/wallet.js'
import { BAZAAR } from './description.js'
import type { ShownResource } from './discovery.js'

/** Items of the catalog as resources that the dialects pay for. */
export async function itemResources(
  page: ReadOnce,
  items: readonly ShownItem[],
  { baseUrl, options }: Pick<ServiceContext, 'baseUrl' | 'options'>,
): Promise<ShownResource[]> {
  const sold = await page.getMany(
    commodities,
    items.map(({ commodity_hash }) => commodity_hash),
  )
  const payees = await page.getMany(
    twins,
    sold.flatMap((row) => (row ? [row.twin_id] : [])),
  )
  const payTo = await payToOfEach(
    page,
    payees.filter((twin) => twin !== undefined),
  )
  const network = required(options.dialects.networks[0], 'the network of offers')
  const resources: ShownResource[] = []
  for (const [n, item] of items.entries()) {
    const { cost, twin_id, dq } = required(sold[n], 'the commodity of an item')
    const quantity = await quantityOf(page, dq)
    const due = { quantity, amount: BigInt(cost), payTo: required(payTo.get(twin_id), 'the payee') }
    resources.push({
      ...{ resource: `${baseUrl}/v4/catalog/items/${item.id}/call`, type: 'http', x402Version: 2 },
      accepts: [wayToPay(offerOn(network, due))],
      lastUpdated: new Date(item.updated_at * 1000).toISOString(),
      description: item.description === '' ? item.name : `${item.name}: ${item.description}`,
      serviceName: item.seller,
      extensions: { [BAZAAR]: describedItem(item) },
    })
  }
  return resources
}

/** How to call an item, in the words of the extension: its arguments are the body. */
function describedItem({ service_schema: body }: Pick<ShownItem, 'service_schema'>) {
  const input = { type: { const: 'http' }, method: { const: 'POST' }, bodyType: { const: 'json' } }
  return {
    info: { input: { type: 'http', method: 'POST', bodyType: 'json', body: exampleOf(body) } },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        input: { type: 'object', properties: { ...input, body }, required: ['type', 'method', 'bodyType', 'body'] },
      },
      required: ['input'],
    },
  }
}

/** A value of a schema, with what is required, as far as types and lists of values say it. */
function exampleOf(schema: unknown): unknown {
  if (!isObject(schema)) return {}
  const { type, properties, enum: values } = schema
  const [first] = [schema.const, schema.default, values, schema.examples].flat().filter((value) => value !== undefined)
  if (first !== undefined) return first
  if (type === 'object' || isObject(properties))
    return Object.fromEntries(
      requiredInputs(schema).map((name) => [name, exampleOf(isObject(properties) ? properties[name] : undefined)]),
    )
  return Object.hasOwn(EXAMPLES, String(type)) ? EXAMPLES[String(type)] : 'text'
}

const EXAMPLES: Readonly<Record<string, unknown>> = { string: 'text', integer: 1, number: 1, boolean: true, array: [] }
