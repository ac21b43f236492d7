import type { ErrorTexts } from './error-text.js'

/** What a person must agree to: approvals of agents, the second factor, delegates, devices and mailed links. */
export const consentErrors = {
  rejected: {
    meaning: 'The user saw the request on a device or behind a mailed link, and said no. No value was moved.',
    causes: [
      'The user did not expect the request, or did not want what it describes.',
      'In a sandbox, the phone is set to reject: `POST /_sandbox/devices/{user_id}`.',
    ],
    fixes: ['Tell the user what you ask for before you ask again. A program must not repeat this by itself.'],
  },
  approval_required: {
    meaning:
      'The payment is above what the user lets agents pay without asking. Nothing was paid. The user can approve exactly this payment.',
    causes: [
      'The user set no `approval_threshold` for this digital quantity. Without one, every payment needs an approval.',
      'The amount is above the threshold.',
      'The call is not a payment, such as a change of an account: those always need an approval.',
    ],
    fixes: [
      'Show the user `url`. Once they approve, repeat the call with `approval_id`.',
      'If the error has no `url`, request the approval: `POST /v4/agent/approvals` with the body in `approval`.',
      'The user may allow more: `PUT /v4/agent/settings` with `approval_threshold`.',
    ],
  },
  approval_not_given: {
    meaning:
      'The approval exists, and does not allow anything: it is pending, rejected or expired. `approval_status` says which.',
    causes: [
      'The user has not answered yet. They have 15 minutes.',
      'The user rejected it.',
      'It was approved and not used within an hour.',
    ],
    fixes: [
      'While it is `pending`, show the user `url` and read `GET /v4/agent/approvals/{approval_id}`.',
      'If it has expired, request a new one with `POST /v4/agent/approvals`.',
    ],
  },
  approval_spent: {
    meaning: 'An approval allows one action, and this one has allowed it. Nothing happened twice.',
    causes: [
      'A retry after an answer that was lost, without an `Idempotency-Key`.',
      'A program uses one approval for several purchases.',
    ],
    fixes: [
      'Look up what happened with `GET /v4/purchases` or `GET /v4/events`.',
      'Request a new approval for the next action, and send an `Idempotency-Key` with it.',
    ],
  },
  approval_mismatch: {
    meaning:
      'The approval is for other terms. The user agreed to exactly what they saw: the item, its arguments, the amount and the payee.',
    causes: [
      'The arguments, the amount or the memo differ from those of the request.',
      'The price has changed since.',
      'The `approval_id` belongs to another action of the same agent.',
    ],
    fixes: [
      'Repeat the call with the fields of the approval: `GET /v4/agent/approvals/{approval_id}` shows them in `detail`.',
      'For other terms, request a new approval.',
    ],
  },
  account_not_granted: {
    meaning:
      'The agent acts for a user only. It may not act for a business account, because the user has granted none.',
    causes: [
      'The user chose no account when they connected the app.',
      'The user has withdrawn the account since, or no longer belongs to it.',
    ],
    fixes: ['Ask for one: `POST /v4/agent/account-choice` returns a link at which the user chooses.'],
  },
  not_choosable: {
    meaning:
      'An agent acts for a business account only if its user grants one, and this user belongs to none. A link to choose one would be empty.',
    causes: ['The user was not registered together with an account.', 'They have not proven their email address yet.'],
    fixes: [
      'Register an account with the email of the user: `POST /v4/account/register`. Then let the user sign in with a mailed code once.',
    ],
  },
  change_impossible: {
    meaning:
      'The user approved a change of an account, and it cannot be made any more. `reason` is the code of the refusal. `changed` says whether parts of it were kept.',
    causes: [
      'Someone changed the same values since the user saw them.',
      'What the change needs is gone or not allowed now, such as a digital quantity or room in the plan.',
    ],
    fixes: ['Read the current values with `GET /v4/agent/account`, and request approval for a new change.'],
  },
  change_incomplete: {
    meaning:
      'The change has several steps, and the service failed between them. The finished steps are kept and listed in `made`. The approval is used.',
    causes: ['A part of the service threw an error that is no refusal. Its log has the cause.'],
    fixes: ['Look at `made` and at `GET /v4/agent/account`, then request approval for what is left.'],
  },
  self_approval: {
    meaning:
      'The session that asked may not answer for its own user. Otherwise whoever steals a session could approve for the user.',
    causes: [
      'One browser makes the request and opens the mailed link.',
      'A test uses the same session for both sides.',
    ],
    fixes: [
      'Answer from the device that was asked, from another session of the user, or open the mailed link in another browser.',
      'In a sandbox, let the phone answer: `POST /_sandbox/devices/{user_id}/approve`.',
    ],
  },
  not_pending: {
    meaning: 'The request has already ended, so this answer changes nothing.',
    causes: [
      'Someone answered it before, on another device or in another tab.',
      'It expired, or the app that asked was disconnected.',
    ],
    fixes: ['Read its status: `GET /v4/authentication-requests/{id}` or `GET /v4/approvals`.'],
  },
  approval_timeout: {
    meaning: 'The user was asked and did not answer in time. No value was moved.',
    causes: [
      'Nobody looked at the device or the mail. A payment at the paywall waits 30 seconds, and everything else two minutes.',
      'The user has no device, so the question went to a mailed link.',
      'The approval was used by another request, or a setting changed while the user answered.',
    ],
    fixes: [
      'Repeat the same request, with the same `Idempotency-Key`: the user is asked again.',
      'In a sandbox, answer with `POST /_sandbox/devices/{user_id}/approve`, or let the phone answer by itself with `mode: "approve"`.',
    ],
  },
  too_many_pending: {
    meaning: 'The user already has as many open questions as people can read. This one was not asked.',
    causes: [
      'Five authentication requests of this user, or 20 approvals of this app, wait for an answer.',
      'A program asks again instead of waiting for the first answer.',
    ],
    fixes: [
      'Wait as long as `Retry-After` says, or until one is answered.',
      'Poll the first request instead of making a new one.',
    ],
  },
  slow_down: {
    meaning: 'The request is polled more often than every two seconds.',
    causes: ['A loop does not wait between two calls.', 'Two parts of a program poll the same request.'],
    fixes: ['Wait `interval` seconds after each answer, or as long as `Retry-After` says.'],
  },
  authorization_answered: {
    meaning: 'The authorization was approved, denied or revoked before. It stays as it is.',
    causes: ['The user answered on another device.', 'The call was repeated.'],
    fixes: ['Read the current status with `GET /v4/paywall/authorizations`.'],
  },
  authorization_expired: {
    meaning: 'The payment that waited for this authorization has given up, so an answer comes too late.',
    causes: ['More than 30 seconds passed between the payment and the answer.'],
    fixes: ['Start the payment again. The user is asked again.'],
  },
  delegate_required: {
    meaning: 'The caller pays for someone else, and does not say by what right.',
    causes: [
      'An account or a page with `public_secret` pays, and sends no `persona_delegate`.',
      'The token should have been that of the user who pays.',
    ],
    fixes: [
      'Send `persona_delegate`: the hash that `POST /v4/persona/{hash}/delegate` with `spend` returned to the user.',
      'Or let the user pay with their own token or session.',
    ],
  },
  delegate_refused: {
    meaning:
      'The delegate is known, or not, and in any case does not cover this payment. The sentence says why. Nothing was counted.',
    causes: [
      'It was revoked, or its `expires_at` has passed.',
      'Its limit for the day, the month or altogether is used up.',
      'It is for another digital quantity, or for another party than the one that calls.',
      'It is a delegate without `spend`, which proves who someone is and pays nothing.',
    ],
    fixes: [
      'Ask the user for a new one: `POST /v4/persona/{hash}/delegate` with `spend: { party, dq, limit, period }`.',
      'The user sees all of them with `GET /v4/persona/{hash}/delegates`.',
    ],
  },
  device_refused: {
    meaning: 'The answer does not come from a device that was asked.',
    causes: [
      'The `X-Device-Token` header is missing or is not the token of the registration.',
      'The device was registered after the request was sent, or its registration is not confirmed.',
    ],
    fixes: ['Send the `token` of `POST /v4/notifications/registrations` as `X-Device-Token`.'],
  },
  too_many_devices: {
    meaning: 'A user can have 20 devices. No further one was registered.',
    causes: ['An app registers a new token on every start and never removes old ones.'],
    fixes: ['Remove some: `GET /v4/notifications/registrations`, then `DELETE /v4/notifications/registrations/{id}`.'],
  },
  link_early: {
    meaning:
      'A new device, or the removal of one, can be confirmed by mail only after a day. This gives the user time to notice and reject it.',
    causes: ['The link was opened on the day of the request.'],
    fixes: [
      'Confirm on one of the devices that the user has, or open the link after a day.',
      'In a sandbox, advance the clock: `POST /_sandbox/clock` with `advance: "1d"`.',
    ],
  },
  link_expired: {
    meaning: 'The link was valid once, and leads nowhere now.',
    causes: [
      'It was already used. Such links work once.',
      'It is too old.',
      'What it was about has ended: the sender took the amount back, or the user disconnected the app.',
    ],
    fixes: ['Start again where the link came from, so that a new one is sent.'],
  },
} satisfies ErrorTexts
