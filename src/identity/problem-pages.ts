import type { ProblemPages } from '../base/problem-fields.js'
import type { identityProblems } from './problems.js'

export const identityPages = {
  client_unknown: `No valid client credentials match. The answer is the same for an unknown id, a wrong secret and a revoked one.
    cause: The id and the secret are of different accounts or users, or were cut when they were copied.
    cause: They were replaced: ‹POST /v4/user/secrets› makes new ones, and keeps only the newest of the old ones.
    cause: The sandbox was reset, or keeps its state in another file, so the account does not exist there.
    cause: The Basic credentials are not base64, or lack the colon.
    fix: Send base64 of ‹client_id:client_secret›, both from the same ‹secrets›.
    fix: In a sandbox, seed fixed credentials, or make a new account with ‹POST /v4/account›.`,
  refresh_token_invalid: `The refresh token cannot be used. A refresh token works once and lasts 24 hours.
    cause: It was used before. Each refresh returns a new refresh token, and the old one is spent.
    cause: It is older than 24 hours.
    cause: It is an access token, or a refresh token of an app: those go to ‹POST /v4/oidc/token›.
    cause: The client credentials that it came from were revoked.
    fix: Get a new pair with ‹Authorization: Basic base64(client_id:client_secret)›.
    fix: Store the ‹refresh_token› of every answer, and let one part of your program refresh.`,
  session_required: `A code is valid only in the session that requested it, and this session requested none for this email. So a code that someone reads aloud opens nothing elsewhere.
    cause: The program keeps neither ‹session_id› nor the cookie between the two calls.
    cause: The email is written differently than when the code was requested.
    fix: Keep the ‹X-Session-ID› of the answer of ‹POST /v4/session/code›, and send it with ‹POST /v4/session/verify›.`,
  code_wrong: `The code is not the one that was mailed last to this email in this session. After five wrong tries, the code is refused.
    cause: It is the code of an earlier mail. Only the last one is valid.
    cause: A digit is wrong.
    cause: The browser of the page blocks cookies, so each step is a new session.
    fix: Enter the six digits of the latest mail, or request a new code with ‹POST /v4/session/code›.
    fix: In tests, an address such as ‹ada+code123456@example.test› always gets the code 123456. ‹GET /_sandbox/outbox› shows all mails.`,
  code_expired: `The code was right once, and cannot be used now. A code works once, within ten minutes.
    cause: More than ten minutes have passed since it was mailed.
    cause: It was already used, for example by a form that was sent twice.
    cause: The user has a device, and did not confirm the sign-in there in time.
    fix: Request a new code with ‹POST /v4/session/code›.
    fix: In a sandbox with a manual clock, do not advance it by more than ten minutes in between.`,
  email_taken: `A user with this email exists. Upper and lower case do not count. Nothing was created.
    cause: A retry after an answer that was lost.
    cause: Tests share a service and an address.
    fix: Send an ‹Idempotency-Key› with ‹POST /v4/user› and ‹POST /v4/account/register›, and repeat it on a retry.
    fix: Let the existing user sign in with ‹POST /v4/session/code›.
    fix: Between tests, create a new service or call ‹POST /_sandbox/reset›.`,
  too_many_codes: `Five codes were mailed to this address in the last 15 minutes, or fifty to any addresses for this network, and none was used. No further mail was sent.
    cause: A form requests a new code on every render or retry.
    cause: Tests share one address.
    cause: Someone in the same network mails codes to strangers.
    fix: Enter the last code, or wait as long as ‹Retry-After› says.
    fix: In tests, use an address for each test, or raise ‹limits.codes›. Addresses with a fixed code such as ‹ada+code123456@example.test› have no limit.`,
  too_many_failures: `The secret is wrong, and so were 20 others for this client id within a minute. The right secret is accepted all the same.
    cause: A program retries with an old secret without a pause.
    cause: Someone tries secrets.
    fix: Correct the secret. The right one is accepted at once, and a wrong one is checked again after ‹Retry-After›.`,
  too_many_tries: `Five wrong codes were entered for one mailed code, or twenty for one address within a day. From then on, right codes are refused too. A session or a browser in which the user signed in by a code before is not counted with others.
    cause: Someone guesses.
    cause: A program retries the same wrong code.
    fix: After five, request a new code with ‹POST /v4/session/code›.
    fix: After twenty, wait as long as ‹Retry-After› says, or sign in where you signed in before.`,
  account_creation_refused: `Whoever runs this service has turned off the creation of accounts.
    cause: The service was created with ‹accountCreation: false›.
    fix: Ask its operator for an account.
    fix: In your own service, leave out ‹accountCreation›, or seed the account.`,
  account_creation_failed: `The service failed while it created the account. Its transaction was undone, so nothing exists.
    cause: A part of the service threw an error that is no refusal. Its log has the cause.
    fix: Repeat the call with the same ‹Idempotency-Key›.
    fix: Read the log: ‹createService({ log })› receives the error.`,
  provisioning_failed: `Account, twin and user are created together, and one of them failed. None of them exists.
    cause: A part of the service threw an error that is no refusal. Its log has the cause.
    fix: Repeat the call with the same ‹Idempotency-Key›.
    fix: Read the log: ‹createService({ log })› receives the error.`,
} satisfies ProblemPages<typeof identityProblems>
