import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { isCurrent } from '../../src/base/time.js'
import { type ApprovalRow, approvalStatus } from '../../src/consent/approvals/approval.js'
import {
  isAuthorizationCodeCurrent,
  isOidcRefreshCurrent,
  type OidcCodeRow,
  type OidcTokenRow,
} from '../../src/consent/oidc/token.js'
import { type AuthenticationRequestRow, requestStatus } from '../../src/consent/second-factor/request.js'
import { isCodeCurrent, type SignInCodeRow } from '../../src/identity/sessions/sign-in-code.js'
import { currentSecrets } from '../../src/jobs/webhooks/webhook.js'
import type { WebhookRow } from '../../src/jobs/webhooks/webhook-row.js'
import { type CartRow, carts, ownCart } from '../../src/market/carts/cart.js'
import { checkoutStatus } from '../../src/market/checkout/checkout.js'
import type { CheckoutRow } from '../../src/market/checkout/checkout-row.js'
import { type TransferRow, transferStatus } from '../../src/payments/transfers/transfer.js'

const END = Date.UTC(2031, 4, 1)
const ends = { expires_at: END, created_at: END - 1000 }

/** What lasts until a time, by what it shows then. Its row says that it lasts, because no timer has run yet. */
const lasting: Readonly<Record<string, (at: number) => unknown>> = {
  'what has a lifetime': (at) => isCurrent(END, 1000, at),
  'an invitation': (at) => transferStatus({ status: 'invited', ...ends } as TransferRow, at) === 'invited',
  'a checkout': (at) => checkoutStatus({ status: 'unpaid', ...ends } as CheckoutRow, at) === 'unpaid',
  'a request to the second factor': (at) =>
    requestStatus({ status: 'pending', ...ends } as AuthenticationRequestRow, at) === 'pending',
  'a pending approval': (at) => approvalStatus({ status: 'pending', ...ends } as ApprovalRow, at) === 'pending',
  'a given approval': (at) => approvalStatus({ status: 'approved', ...ends } as ApprovalRow, at) === 'approved',
  'a sign-in code': (at) => isCodeCurrent(ends as SignInCodeRow, at),
  'an authorization code': (at) => isAuthorizationCodeCurrent(ends as Partial<OidcCodeRow> as OidcCodeRow, at),
  'a refresh token of an app': (at) => isOidcRefreshCurrent({ refresh_expires_at: END } as OidcTokenRow, at),
  'a former secret of a webhook': (at) =>
    currentSecrets({ secret: 'new', former_secret: 'old', former_until: END } as WebhookRow, at).length === 2,
  async 'a cart'(at) {
    const storage = memoryStorage()
    const cart: CartRow = { id: 1, holder: 'session:1', lines_made: 0, ordered_at: null, ...ends }
    await storage.write(async (tx) => tx.put(carts, cart))
    const own = storage.read((tx) => ownCart(tx, { id: 1, holder: 'session:1', within: undefined, at }))
    return own.then(
      () => true,
      () => false,
    )
  },
}

test.each(Object.entries(lasting))(
  '%s lasts until its end, and not a millisecond longer, before any timer runs',
  async (_, isOpen) => {
    const times = [END - 1000, END - 1, END, END + 1, END + 86_400_000]
    expect(await Promise.all(times.map(isOpen))).toEqual([true, true, false, false, false])
  },
)
