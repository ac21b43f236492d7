import { expireApprovalsOf } from '../consent/approvals/approval.js'
import { removeThresholds } from '../consent/approvals/settings.js'
import { removeAllDevices } from '../consent/devices/device.js'
import { endConnectionsOf, retireAgentTwin } from '../consent/oidc/connection.js'
import { revokeDelegatesOf } from '../consent/personas/delegate.js'
import { rejectRequestsOf } from '../consent/second-factor/request.js'
import { endStandingApprovalsOf } from '../consent/second-factor/standing-approval.js'
import type { OnDisconnect, OnFirstProof, OnSignIn } from '../http/context.js'
import { moveCartsAtSignIn } from '../market/carts/cart.js'
import { moveCheckoutsAtSignIn } from '../market/checkout/checkout-row.js'
import { claimInvitations } from '../payments/transfers/transfer.js'

export const onSignIn: readonly OnSignIn[] = [claimInvitations, moveCartsAtSignIn, moveCheckoutsAtSignIn]

export const onDisconnect: readonly OnDisconnect[] = [
  (tx, { connectionId, at }) => expireApprovalsOf(tx, connectionId, at),
]

/** What features end when a user first proves their email, in the order of the mail to the user. */
export const onFirstProof: readonly OnFirstProof[] = [
  {
    isSliced: true,
    end: (tx, proven) => endConnectionsOf(tx, proven, { rules: { onDisconnect } }),
    one: 'connected app',
    many: 'connected apps',
  },
  {
    end: (tx, { userId }) => retireAgentTwin(tx, userId),
    one: 'wallet that apps paid from (what it holds stays yours)',
    many: 'wallets that apps paid from',
  },
  { isSliced: true, end: revokeDelegatesOf, one: 'delegate', many: 'delegates' },
  { end: (tx, { userId, at }) => removeAllDevices(tx, userId, at), one: 'device', many: 'devices' },
  { isSliced: true, end: rejectRequestsOf, one: 'open request', many: 'open requests' },
  {
    ...{ isSliced: true, end: endStandingApprovalsOf },
    ...{ one: 'approval of later payments', many: 'approvals of later payments' },
  },
  {
    end: (tx, { userId }) => removeThresholds(tx, userId),
    one: 'spending threshold for apps',
    many: 'spending thresholds for apps',
  },
]
