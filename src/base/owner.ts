/**
 * Who owns a twin: `account:1`, `user:2`, the issuer of a digital quantity (`issuer:HASH`), or a checkout
 * (`checkout:3`). A checkout's twin belongs to nobody and holds what cards were charged for that checkout.
 */
export type Owner = `account:${number}` | `user:${number}` | `issuer:${string}` | `checkout:${number}`

/** Whether the owner is an account or a user, who can spend what they receive. Issuers and checkouts cannot. */
export const isAccountOrUser = (owner: Owner): boolean => owner.startsWith('account:') || owner.startsWith('user:')

const idIfKind = (kind: string, owner: string): number | undefined =>
  owner.startsWith(`${kind}:`) ? Number(owner.slice(kind.length + 1)) : undefined

/** The account's id, if the owner is an account. */
export const accountIdOf = (owner: string): number | undefined => idIfKind('account', owner)

/** The user's id, if the owner is a user. */
export const userIdOf = (owner: string): number | undefined => idIfKind('user', owner)
