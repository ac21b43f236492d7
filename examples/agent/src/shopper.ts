import type { Client } from '@modelcontextprotocol/client'

export interface Errand {
  /** Words that the item's name or description has. */
  readonly query: string
  /** What to send to the item's seller. */
  readonly arguments: Readonly<Record<string, unknown>>
  /** The agent does not even ask its user to pay more than this. */
  readonly mostPrice: number
}

export interface Receipt {
  readonly amount: number
  readonly response: { readonly status: number; readonly body: string }
}

interface Item {
  readonly id: number
  readonly name: string
  readonly price: number
  readonly dq: string
}

interface Wallet {
  readonly hostname: string
  /** By digital quantity. */
  readonly balances: Readonly<Record<string, number>>
}

/** Finds an item, and buys it once its user approves. Throws if there is none, or if the purchase is refused. */
export async function buy(client: Client, { query, arguments: args, mostPrice }: Errand): Promise<Receipt> {
  const { items } = await call<{ items: Item[] }>(client, 'catalog_search', { query })
  const item = items.find(({ price }) => price <= mostPrice)
  if (!item) throw new Error(`Nobody sells "${query}" for ${mostPrice} or less.`)
  const { id: catalog_item_id, price, dq } = item
  // An agent pays from a wallet of its own. The user approves what is moved there, too.
  const { balances } = await call<Wallet>(client, 'agent_wallet_info')
  if ((balances[dq] ?? 0) < price) await call(client, 'transfer_to_agent', { amount: price, dq })
  // The price is sent back: if it changes before the purchase, nothing is charged.
  return call(client, 'agent_checkout', { catalog_item_id, arguments: args, price, dq })
}

/** Calls a tool. Its structured content has the shape that the tool's output schema says. */
async function call<T>(client: Client, name: string, args: Record<string, unknown> = {}): Promise<T> {
  const { isError, structuredContent } = await client.callTool({ name, arguments: args })
  if (isError) throw new Error((structuredContent as { error: string }).error)
  return structuredContent as T
}
