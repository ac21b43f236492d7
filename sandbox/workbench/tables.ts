/** What people look for first, by collection, with the columns that tell rows apart. */
export const tables: Readonly<Record<string, { readonly title: string; readonly columns: readonly string[] }>> = {
  payments: {
    title: 'Payments',
    columns: ['id', 'descriptor', 'amount', 'payer_owner', 'payee_owner', 'status', 'created_at'],
  },
  users: { title: 'People', columns: ['id', 'email', 'email_verified_at', 'made_by', 'created_at'] },
  accounts: { title: 'Accounts', columns: ['id', 'name', 'public_secret', 'created_at'] },
  twins: { title: 'Wallets', columns: ['id', 'hostname', 'owner', 'dq', 'created_at'] },
  listed_resources: { title: 'Bazaar', columns: ['resource', 'type', 'description', 'updated_at'] },
  wallets: { title: 'Addresses', columns: ['id', 'twin_id', 'delegate', 'linked_at'] },
  commodities: { title: 'Articles', columns: ['descriptor', 'cost', 'owner', 'id', 'created_at'] },
  catalog_items: { title: 'Items', columns: ['id', 'name', 'external_endpoint', 'account_id', 'created_at'] },
  checkouts: { title: 'Checkouts', columns: ['id', 'status', 'amount', 'account_id', 'created_at'] },
  carts: { title: 'Carts', columns: ['id', 'status', 'user_id', 'created_at'] },
  approvals: { title: 'Approvals', columns: ['id', 'kind', 'status', 'user_id', 'created_at'] },
  personas: { title: 'Personas', columns: ['id', 'name', 'user_id', 'created_at'] },
  oidc_connections: { title: 'Agents', columns: ['id', 'client_id', 'user_id', 'created_at'] },
  webhooks: { title: 'Webhooks', columns: ['id', 'url', 'status', 'account_id', 'created_at'] },
  outbox: { title: 'Deliveries', columns: ['id', 'kind', 'to', 'subject', 'status', 'created_at'] },
  invoices: { title: 'Invoices', columns: ['id', 'status', 'amount', 'account_id', 'created_at'] },
  events: { title: 'Events', columns: ['id', 'type', 'owner', 'subject', 'created_at'] },
  movements: {
    title: 'Movements',
    columns: ['id', 'kind', 'amount', 'payer_twin_id', 'payee_twin_id', 'state', 'created_at'],
  },
}

export const titleOf = (collection: string): string =>
  tables[collection]?.title ?? collection.replace(/_/g, ' ').replace(/^./, (first) => first.toUpperCase())
