/** Names of the tools that every MCP server of the service has. No item can have one of them. */
export const reservedToolNames: ReadonlySet<string> = new Set([
  ...['agent_wallet_info', 'check_wallet_balance', 'fund_primary_wallet', 'transfer_to_agent'],
  ...['catalog_search', 'agent_checkout', 'guest_checkout', 'purchase_history'],
  ...['request_approval', 'approval_status', 'choose_account'],
  ...['cart_add', 'cart_view', 'cart_remove', 'cart_pay'],
  ...['twin_status', 'create_twin', 'list_my_tools', 'test_tool'],
  ...['register_tool', 'update_tool', 'deactivate_tool', 'request_account_change', 'apply_account_change'],
])

/** Leaves room for a number within the 64 characters that models accept. */
const MAX_LENGTH = 58

/** Converts a name to snake_case without accents. A name without Latin letters or digits becomes `item`. */
export const snakeCase = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .slice(0, MAX_LENGTH)
    .replace(/^_|_$/g, '') || 'item'

/** Yields the tool names that an item may have: its name in snake_case, then with `_2`, `_3`. Skips reserved names. */
export function* toolNamesOf(name: string): Generator<string> {
  const own = snakeCase(name)
  if (!reservedToolNames.has(own)) yield own
  for (let n = 2; ; n++) if (!reservedToolNames.has(`${own}_${n}`)) yield `${own}_${n}`
}

export function fitsToolName(toolName: string, name: string): boolean {
  const own = snakeCase(name)
  return toolName === own || (toolName.startsWith(`${own}_`) && /^[1-9]\d*$/.test(toolName.slice(own.length + 1)))
}
