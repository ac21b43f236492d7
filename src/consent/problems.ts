import type { ProblemDeclarations } from '../base/problem-fields.js'

/** Who calls, and what a user allows. */
export const consentProblems = {
  authorization_missing: '401 Credentials are missing.',
  credentials_missing:
    '401 Credentials are missing. Send Authorization with Basic client credentials, or with Bearer and a refresh token.',
  token_invalid: '401 The access token is unknown, expired, revoked, or issued for another purpose. Get a new one.',
  agent_token_required: '401 This operation needs the OIDC access token of an app that a user connected.',
  bearer_required: '401 This operation needs a Bearer access token. Get one with your client credentials.',
  public_secret_unknown: '401 No account has this public_secret.',
  sign_in_required: '401 This session is not signed in. Request a code with POST /v4/session/code, then verify it.',
  page_refused: '401 This session belongs to a page of another origin. Only that page can use it.',
  scheme_refused: '403 The Authorization scheme must be Basic or Bearer.',
  insufficient_scope: '403 The access token lacks the scope for this operation.',
  rejected: '403 The user rejected this. No value was moved.',
  payment_denied: '408 The user denied this payment. No value was moved.',
  approval_timeout: '408 The user did not approve this in time. No value was moved.',
  self_approval: '403 The session that made this request cannot answer it. Answer from another session or device.',
  device_refused: '403 Only a device that was asked can answer. Send its registration token as X-Device-Token.',
  too_many_devices: '409 The user has the maximum number of devices. Remove one first.',
  link_early: '409 This link cannot confirm the change yet. Confirm it on one of your devices, or open the link later.',
  link_expired: '410 This link has expired or was already used.',
  authorization_answered: '400 This authorization was already answered or revoked.',
  authorization_expired: '400 This authorization expired before it was answered. Start the payment again.',
  too_many_pending: '429 Too many requests are waiting for this user. Wait until one is answered or expires.',
  not_pending: '409 This request is no longer pending. It was answered, withdrawn, or has expired.',
  slow_down: '429 You poll too often. Wait `interval` seconds between requests.',
  approval_required: ['403 The user must approve this first.', { fields: ['approval', 'approval_id', 'url'] }],
  approval_not_given: [
    '403 The user has not approved this, or not in time.',
    { fields: ['approval_id', 'approval_status', 'url'] },
  ],
  approval_spent: [
    '409 This approval was already used. An approval is valid once. Request a new one.',
    { fields: ['approval_id', 'approval_status'] },
  ],
  approval_mismatch: [
    '409 This approval is for something else. It covers exactly what the user saw, at that price. Request a new one.',
    { fields: ['approval_id'] },
  ],
  delegate_refused: '403 This delegate does not allow this payment.',
  delegate_required:
    '403 This pays for someone else. Send `persona_delegate`, the hash of a spending authority that you have.',
} as const satisfies ProblemDeclarations
