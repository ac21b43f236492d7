import { agentTexts } from '../agents/agents/descriptions.js'
import { mcpTexts } from '../agents/mcp/descriptions.js'
import { approvalTexts } from '../consent/approvals/descriptions.js'
import { clientCredentialTexts } from '../consent/client-credentials/descriptions.js'
import { notificationTexts } from '../consent/notifications/descriptions.js'
import { oidcBrowserTexts } from '../consent/oidc/browser/descriptions.js'
import { oidcTexts } from '../consent/oidc/descriptions.js'
import { personaTexts } from '../consent/personas/descriptions.js'
import { secondFactorTexts } from '../consent/second-factor/descriptions.js'
import { signInTexts } from '../consent/sign-in/descriptions.js'
import { commonFields } from '../http/openapi/common-fields.js'
import type { Texts } from '../http/openapi/texts.js'
import { accountTexts } from '../identity/accounts/descriptions.js'
import { sessionTexts } from '../identity/sessions/descriptions.js'
import { tokenTexts } from '../identity/tokens/descriptions.js'
import { userTexts } from '../identity/users/descriptions.js'
import { eventTexts } from '../jobs/events/descriptions.js'
import { webhookTexts } from '../jobs/webhooks/descriptions.js'
import { billingTexts } from '../market/billing/descriptions.js'
import { cartTexts } from '../market/carts/descriptions.js'
import { catalogTexts } from '../market/catalog/descriptions.js'
import { checkoutTexts } from '../market/checkout/descriptions.js'
import { checkoutRefundTexts } from '../market/checkout/refunds/descriptions.js'
import { embedTexts } from '../market/embeds/descriptions.js'
import { paywallTexts } from '../market/paywall/descriptions.js'
import { purchaseTexts } from '../market/purchases/descriptions.js'
import { commodityTexts } from '../money/commodities/descriptions.js'
import { digitalQuantityTexts } from '../money/digital-quantities/descriptions.js'
import { twinTexts } from '../money/twins/descriptions.js'
import { paymentTexts } from '../payments/payments/descriptions.js'
import { statementTexts } from '../payments/statements/descriptions.js'
import { topupTexts } from '../payments/topups/descriptions.js'
import { transferTexts } from '../payments/transfers/descriptions.js'
import { controlTexts } from '../sandbox/controls/descriptions.js'
import { faultTexts } from '../sandbox/controls/faults/descriptions.js'
import { forkTexts } from '../sandbox/controls/forks/descriptions.js'
import { journalTexts } from '../sandbox/controls/journal/descriptions.js'
import { metricsTexts } from '../sandbox/controls/metrics/descriptions.js'
import { peopleTexts } from '../sandbox/controls/people/descriptions.js'
import { replayTexts } from '../sandbox/controls/replay/descriptions.js'
import { snapshotTexts } from '../sandbox/controls/snapshots/descriptions.js'
import { toolTexts } from '../sandbox/tools/descriptions.js'

const introduction = `The interface of a micropayment service: it moves value between people who sell something and people who buy it, in small amounts.

**Value.** Amounts are JSON numbers in a digital quantity, such as a US dollar with three decimals. A number that is finer than its smallest unit is refused.

**Times** are Unix seconds. Accounts, users and their secrets show them as digits. Requests may also use ISO 8601.

**Callers.** Accounts and users get access tokens for their client credentials. People sign in with a mailed code and then have a session. Agents have OpenID Connect tokens of a user who connected them.

**Lists** are newest first. Send \`next\` of a page as \`after\` to get the next one.

**Errors** are \`{error, status, code, docs}\`. \`code\` is stable: each operation lists its own in \`x-codes\`. \`docs\` is the address of a page that explains the code.

**Retries.** Send an \`Idempotency-Key\` with operations that move value or create something. The same request with the same key changes nothing and gets the first answer.

**Evidence.** \`x-evidence\` says how an operation or a field is known: \`documented\` by the description of the interface, \`observed\` in existing clients, only \`named\`, or \`designed\` by farthing. A field without it has the grade of its operation.`

const ACCEPT = 'It answers with a page, or with JSON or Markdown if `Accept` asks for it.'

/** Every text of the OpenAPI document. */
export const texts: Texts = {
  introduction,
  tags: {
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
    approvals: "The user's side of what agents request.",
    billing: 'What an account pays for its use of the service.',
    oidc: 'The OpenID Connect provider.',
    mcp: 'The servers of the Model Context Protocol, and the registry of their tools.',
    embeds: 'Pages for iframes, and the payment element.',
    meta: 'About the service itself.',
    sandbox: 'Controls for development and tests. They answer only in a sandbox.',
  },
  fields: commonFields,
  features: [
    accountTexts,
    tokenTexts,
    userTexts,
    clientCredentialTexts,
    digitalQuantityTexts,
    twinTexts,
    statementTexts,
    commodityTexts,
    paymentTexts,
    catalogTexts,
    purchaseTexts,
    checkoutRefundTexts,
    checkoutTexts,
    cartTexts,
    paywallTexts,
    personaTexts,
    transferTexts,
    topupTexts,
    sessionTexts,
    signInTexts,
    notificationTexts,
    secondFactorTexts,
    eventTexts,
    webhookTexts,
    agentTexts,
    approvalTexts,
    billingTexts,
    oidcBrowserTexts,
    oidcTexts,
    mcpTexts,
    embedTexts,
    {
      operations: {
        readOpenapi:
          'Anybody may call this. In a service that accepts only stronger evidence, weaker operations and fields are left out.',
        readLiveness:
          'Anybody may call this. It answers while the process runs, also before the start has ended, and touches no storage. The journal leaves it out.',
        readReadiness:
          'Anybody may call this. It answers 503 `not_ready` while the service starts, stores nothing, or has as many waiting requests as it lets wait. The journal leaves it out.',
        listErrorCodes: `Anybody may call this. ${ACCEPT}`,
        readErrorCode: `Anybody may call this. \`docs\` of every error leads here. Backticks in texts mark code. ${ACCEPT}`,
      },
      fields: {
        alive: 'Always true.',
        ready: 'Always true.',
        waiting: 'How many requests wait for their first transaction.',
        queue: 'How many may wait before the service turns requests away: the option `limits.queue`.',
        code: 'The error code.',
        error: 'The sentence of the code. An error may add a detail to it.',
        docs: 'The address of its page.',
        errors: 'Every error, by its status.',
      },
      components: {
        ListedError: { is: 'An error code in a list.' },
        ExplainedError: {
          is: 'What an error code means.',
          meaning: 'What happened, and what did not.',
          causes: 'The usual causes, the most likely first.',
          fixes: 'What to do.',
          fields: 'The fields that the error may have beside those of every error.',
          'fields.type': 'Its type.',
          operations: 'The operations of this service that may answer with it.',
          'operations.method': 'The HTTP method.',
          'operations.path': 'The path below the base URL.',
        },
      },
    },
    faultTexts,
    peopleTexts,
    journalTexts,
    replayTexts,
    controlTexts,
    snapshotTexts,
    forkTexts,
    toolTexts,
    metricsTexts,
  ],
}
