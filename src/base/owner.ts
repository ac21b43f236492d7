/**
 * Who owns a twin: `account:1`, `user:2`, the issuer of a digital quantity (`issuer:HASH`), a checkout (`checkout:3`),
 * whoever has the key of an address (`wallet:0xADDRESS`), or nobody here (`stand-in:ADDRESS`). A checkout's twin belongs
 * to nobody and holds what cards were charged for that checkout. A stand-in is for a twin of another service, which an
 * imported binder names.
 */
export type Owner =
  | `account:${number}`
  | `user:${number}`
  | `issuer:${string}`
  | `checkout:${number}`
  | `wallet:${string}`
  | `stand-in:${string}`

/** Whether the owner can spend what they receive: an account, a user, or whoever has a key. Issuers, checkouts and stand-ins cannot. */
export const canSpend = (owner: Owner): boolean => /^(account|user|wallet):/.test(owner)

const idIfKind = (kind: string, owner: string): number | undefined =>
  owner.startsWith(`${kind}:`) ? Number(owner.slice(kind.length + 1)) : undefined

/** The account's id, if the owner is an account. */
export const accountIdOf = (owner: string): number | undefined => idIfKind('account', owner)

/** The user's id, if the owner is a user. */
export const userIdOf = (owner: string): number | undefined => idIfKind('user', owner)

/** The account that calls or pays, which may see and buy its own private items. */
export const callingAccount = ({ kind, id }: { readonly kind: string; readonly id?: unknown }): number | undefined =>
  kind === 'account' && typeof id === 'number' ? id : undefined
