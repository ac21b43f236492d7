/**
 * Who a twin, and with it what it sells and pays, belongs to: `account:1`, `user:2`, `issuer:HASH` of a digital quantity, or
 * `checkout:3`, which is nobody's and holds what cards were charged for that checkout.
 */
export type Owner = `account:${number}` | `user:${number}` | `issuer:${string}` | `checkout:${number}`

/** Whether somebody can spend what the owner is sent: issuers and checkouts are nobody. */
export const isSomebody = (owner: Owner): boolean => owner.startsWith('account:') || owner.startsWith('user:')
