/**
 * Who a twin, and with it what it sells and pays, belongs to: `account:1`, `user:2`, `issuer:HASH` of a digital quantity, or
 * `checkout:3`, which is nobody's and holds what cards were charged for that checkout.
 */
export type Owner = `account:${number}` | `user:${number}` | `issuer:${string}` | `checkout:${number}`

/** Whether somebody can spend what the owner is sent: issuers and checkouts are nobody. */
export const isAccountOrUser = (owner: Owner): boolean => owner.startsWith('account:') || owner.startsWith('user:')

const idIfKind = (kind: string, owner: string): number | undefined =>
  owner.startsWith(`${kind}:`) ? Number(owner.slice(kind.length + 1)) : undefined

/** The id of the account that an owner is, if it is one. */
export const accountIdOf = (owner: string): number | undefined => idIfKind('account', owner)

/** The id of the user that an owner is, if it is one. */
export const userIdOf = (owner: string): number | undefined => idIfKind('user', owner)
