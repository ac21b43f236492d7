/** Names of the tools that every MCP server of the service has. No item can have one of them. */
export const reservedToolNames: ReadonlySet<string> = new Set([
  ...['agent_wallet_info', 'check_wallet_balance', 'fund_primary_wallet', 'transfer_to_agent'],
  ...['catalog_search', 'agent_checkout', 'guest_checkout', 'purchase_history'],
  ...['request_approval', 'approval_status', 'choose_account'],
  ...['cart_add', 'cart_view', 'cart_remove', 'cart_pay'],
  ...['twin_status', 'create_twin', 'list_my_tools', 'test_tool'],
  ...['register_tool', 'update_tool', 'deactivate_tool', 'request_account_change', 'apply_account_change'],
])
