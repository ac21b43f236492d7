import { commonFields } from '../http/openapi/common-fields.js'
import type { Texts } from '../http/openapi/texts.js'
import type { Feature } from './feature.js'

const introduction = `The interface of a micropayment service: it moves value between people who sell something and people who buy it, in small amounts.

**Value.** Amounts are JSON numbers in a digital quantity, such as a US dollar with three decimals. A number that is finer than its smallest unit is refused.

**Times** are Unix seconds. Accounts, users and their secrets show them as digits. Requests may also use ISO 8601.

**Callers.** Accounts and users get access tokens for their client credentials. People sign in with a mailed code and then have a session. Agents have OpenID Connect tokens of a user who connected them.

**Lists** are newest first. Send \`next\` of a page as \`after\` to get the next one.

**Errors** are \`{error, status, code, docs}\`. \`code\` is stable: each operation lists its own in \`x-codes\`. \`docs\` is the address of a page that explains the code.

**Retries.** Send an \`Idempotency-Key\` with operations that move value or create something. The same request with the same key changes nothing and gets the first answer.

**Evidence.** \`x-evidence\` says how an operation or a field is known: \`documented\` by the description of the interface, \`observed\` in existing clients, only \`named\`, or \`designed\` by farthing. A field without it has the grade of its operation.`

const tags = {
  accounts: 'Providers who sell something, and their credentials.',
  tokens: 'Access tokens for client credentials.',
  users: 'Individual payers.',
  'digital quantities': 'The units of value.',
  twins: 'Wallets that are merchant accounts too, and their statements.',
  commodities: 'What twins sell.',
  payments: 'Payments for commodities, and their proof.',
  catalog: 'Items that are sold to agents and people, with the endpoint that delivers them.',
  purchases: 'Buying items of the catalog, and receipts.',
  checkout: 'Links that pay for one purchase.',
  carts: 'Items that are paid together.',
  paywall: 'Paying for a call of a service, in one request.',
  personas: 'Identities, and the delegates that they give to others.',
  transfers: 'Sending value to a twin or an email address.',
  'top-ups': 'Getting value for a card payment.',
  sessions: 'Signing in with a mailed code.',
  notifications: 'The devices of a user.',
  'second factor': 'Questions to a user before something happens.',
  events: 'What happened, for its owner.',
  webhooks: 'Events that are delivered to the server of an account, signed.',
  agents: 'What agents may do for a user and an account.',
  x402: 'A facilitator of x402, without a chain.',
  approvals: "The user's side of what agents request.",
  billing: 'What an account pays for its use of the service.',
  oidc: 'The OpenID Connect provider.',
  mcp: 'The servers of the Model Context Protocol, and the registry of their tools.',
  embeds: 'Pages for iframes, and the payment element.',
  meta: 'About the service itself.',
  sandbox: 'Controls for development and tests. They answer only in a sandbox.',
}

export const loadTexts = async (all: readonly Feature[]): Promise<Texts> => ({
  introduction,
  tags,
  fields: commonFields,
  features: (await Promise.all(all.flatMap((feature) => feature.describe?.() ?? []))).flatMap((texts) =>
    Object.values(texts),
  ),
})
