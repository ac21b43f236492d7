import type { ErrorTexts } from './error-text.js'

/** Accounts, users, and signing in with a mailed code. */
export const identityErrors = {
  session_required: {
    meaning:
      'A code is valid only in the session that requested it, and this session requested none for this email. So a code that someone reads aloud opens nothing elsewhere.',
    causes: [
      'The program keeps neither `session_id` nor the cookie between the two calls.',
      'The email is written differently than when the code was requested.',
    ],
    fixes: [
      'Keep the `X-Session-ID` of the answer of `POST /v4/session/code`, and send it with `POST /v4/session/verify`.',
    ],
  },
  code_wrong: {
    meaning:
      'The code is not the one that was mailed last to this email in this session. After five wrong tries, the code is refused.',
    causes: [
      'It is the code of an earlier mail. Only the last one is valid.',
      'A digit is wrong.',
      'The browser of the page blocks cookies, so each step is a new session.',
    ],
    fixes: [
      'Enter the six digits of the latest mail, or request a new code with `POST /v4/session/code`.',
      'In tests, an address such as `ada+code123456@example.test` always gets the code 123456. `GET /_sandbox/outbox` shows all mails.',
    ],
  },
  code_expired: {
    meaning: 'The code was right once, and cannot be used now. A code works once, within ten minutes.',
    causes: [
      'More than ten minutes have passed since it was mailed.',
      'It was already used, for example by a form that was sent twice.',
      'The user has a device, and did not confirm the sign-in there in time.',
    ],
    fixes: [
      'Request a new code with `POST /v4/session/code`.',
      'In a sandbox with a manual clock, do not advance it by more than ten minutes in between.',
    ],
  },
  too_many_codes: {
    meaning:
      'Five codes were mailed to this address in the last 15 minutes, or fifty to any addresses for this network, and none was used. No further mail was sent.',
    causes: [
      'A form requests a new code on every render or retry.',
      'Tests share one address.',
      'Someone in the same network mails codes to strangers.',
    ],
    fixes: [
      'Enter the last code, or wait as long as `Retry-After` says.',
      'In tests, use an address for each test, or raise `limits.codes`. Addresses with a fixed code such as `ada+code123456@example.test` have no limit.',
    ],
  },
  too_many_tries: {
    meaning:
      'Five wrong codes were entered for one mailed code, or twenty for one address within a day. From then on, right codes are refused too. A session or a browser in which the user signed in by a code before is not counted with others.',
    causes: ['Someone guesses.', 'A program retries the same wrong code.'],
    fixes: [
      'After five, request a new code with `POST /v4/session/code`.',
      'After twenty, wait as long as `Retry-After` says, or sign in where you signed in before.',
    ],
  },
  too_many_mails: {
    meaning:
      'A person got five messages of this kind within 15 minutes. No further one was sent, and what should have been announced did not happen.',
    causes: [
      'Invitations to one address come from a loop.',
      'One page or program asked one user five times without an approval.',
      'Tests share one user.',
    ],
    fixes: [
      'Wait as long as `Retry-After` says, then repeat the call.',
      'In tests, use a user for each test, or advance the clock of the sandbox by 15 minutes.',
    ],
  },
  email_unproven: {
    meaning:
      'A commodity that pays its readers pays only users who have proven their address, because addresses that anybody makes up cost nothing.',
    causes: [
      'The user was created by `POST /v4/user`, or seeded with `email_verified: false`, and has never signed in with a mailed code.',
    ],
    fixes: ['Let the user sign in once: `POST /v4/session/code`, then `POST /v4/session/verify`.'],
  },
  email_taken: {
    meaning: 'A user with this email exists. Upper and lower case do not count. Nothing was created.',
    causes: ['A retry after an answer that was lost.', 'Tests share a service and an address.'],
    fixes: [
      'Send an `Idempotency-Key` with `POST /v4/user` and `POST /v4/account/register`, and repeat it on a retry.',
      'Let the existing user sign in with `POST /v4/session/code`.',
      'Between tests, create a new service or call `POST /_sandbox/reset`.',
    ],
  },
  account_creation_refused: {
    meaning: 'Whoever runs this service has turned off the creation of accounts.',
    causes: ['The service was created with `accountCreation: false`.'],
    fixes: [
      'Ask its operator for an account.',
      'In your own service, leave out `accountCreation`, or seed the account.',
    ],
  },
  account_creation_failed: {
    meaning: 'The service failed while it created the account. Its transaction was undone, so nothing exists.',
    causes: ['A part of the service threw an error that is no refusal. Its log has the cause.'],
    fixes: [
      'Repeat the call with the same `Idempotency-Key`.',
      'Read the log: `createService({ log })` receives the error.',
    ],
  },
  provisioning_failed: {
    meaning: 'Account, twin and user are created together, and one of them failed. None of them exists.',
    causes: ['A part of the service threw an error that is no refusal. Its log has the cause.'],
    fixes: [
      'Repeat the call with the same `Idempotency-Key`.',
      'Read the log: `createService({ log })` receives the error.',
    ],
  },
} satisfies ErrorTexts
