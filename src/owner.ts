/** Who a twin, and with it what it sells and pays, belongs to: `account:1`, `user:2`, or `issuer:HASH` of a digital quantity. */
export type Owner = `account:${number}` | `user:${number}` | `issuer:${string}`
