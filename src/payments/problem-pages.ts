import type { ProblemPages } from '../base/problem-fields.js'
import type { paymentsProblems } from './problems.js'

export const paymentsPages = {
  nonce_unknown: `No payment for this commodity has this nonce, so there is no proof of payment. Do not deliver.
    cause: ‹hash› in the path is of another commodity than the one that was paid.
    cause: ‹timestamp› does not belong to this nonce. It may be sent in milliseconds or in seconds, or left out.
    cause: The visitor made it up, or the payment was made at another service.
    fix: Send ‹nonce› and ‹timestamp› exactly as the payment returned them: ‹POST /v4/payment/{hash}/validate› with ‹{nonce, timestamp}›.`,
  nonce_used: `The payment is real, and its nonce was validated before. One payment unlocks one thing once.
    cause: The seller validates twice, for example once in a middleware and once in the handler.
    cause: The visitor reloads the page or shares its address.
    cause: A retry after an answer that was lost.
    fix: Validate once, and remember in your own session what the visitor bought.
    fix: Send an ‹Idempotency-Key› with the call: a retry then gets the first answer.
    fix: To look without spending, read ‹GET /v4/payment/{hash}/validate›.`,
  nonce_expired: `The payment is real, and its proof is too old. A nonce lasts 15 minutes. The payment itself stays.
    cause: The seller validated long after the payment.
    cause: The clock of the sandbox was advanced between the two.
    fix: Validate as soon as the page gets the ‹purchase› event.
    fix: Find the payment with ‹GET /v4/commodity/{hash}/transactions›.
    fix: In your own service, set ‹limits.nonceSeconds›.`,
  not_invited: `The amount waits for the person with the invited email address. The sender cannot claim it.
    cause: The sender follows their own invitation.
    fix: Take it back with ‹POST /v4/transfers/{id}/cancel›, or let the invited person sign in and claim it.`,
  transfer_settled: `The transfer has ended: it was claimed or taken back. Nothing was moved now.
    cause: Someone else was faster: the recipient claimed it, or the sender cancelled it.
    cause: The call was repeated.
    fix: Read its ‹status› with ‹GET /v4/transfers/{id}›.`,
  transfer_expired: `An invitation lasts 30 days. Nobody claimed this one, so the amount is back with its sender.
    cause: The recipient opened the mail too late.
    cause: The clock of the sandbox was advanced by more than 30 days.
    fix: Send it again with ‹POST /v4/transfer›.`,
  payback_only: `This commodity pays its readers instead of charging them.
    cause: A payment element or a program uses the commodity of a payback element.
    fix: Call ‹POST /v4/payback/{hash}›, or show the payback element.
    fix: To sell it, turn that off: ‹PUT /v4/commodity/{hash}/payback› with ‹enabled: false›.`,
  payback_refused: `Only a commodity whose seller has turned it on pays its readers.
    cause: The commodity was created without ‹payback: true›.
    cause: Its seller has turned it off.
    fix: The seller calls ‹PUT /v4/commodity/{hash}/payback› with ‹enabled: true›, or creates a commodity with ‹payback: true›.`,
  payback_taken: `A commodity pays each user once, and this user has been paid.
    cause: The page offers the payback again after a reload.
    cause: A retry after an answer that was lost, without an ‹Idempotency-Key›.
    fix: Look for the payment with ‹GET /v4/payments›.
    fix: Pay for something else with another commodity.`,
  email_unproven: `A commodity that pays its readers pays only users who have proven their address, because addresses that anybody makes up cost nothing.
    cause: The user was created by ‹POST /v4/user›, or seeded with ‹email_verified: false›, and has never signed in with a mailed code.
    fix: Let the user sign in once: ‹POST /v4/session/code›, then ‹POST /v4/session/verify›.`,
  binder_invalid: `A line of the CSV is not a line of a binder. Nothing was imported. ‹line›, ‹column› and ‹expected› say where and what.
    cause: A spreadsheet changed the numbers, the times or the order of the columns.
    cause: A required column is missing.
    cause: A row pays into the very twin that it is imported into.
    fix: Import the file as the live service exported it, in UTF-8.
    fix: Correct the named cell, and send the whole file again.`,
  binder_refused: `A binder is imported into a twin without a history, so that its balances are those of the file. This twin cannot take one.
    cause: The twin has payments or delegates already, or a binder was imported before.
    cause: Nobody can spend what the twin holds, such as that of an issuer.
    fix: Create a twin for the binder: ‹POST /v4/twin›, then ‹POST /_sandbox/twins/{hostname}/binder›.`,
  import_in_progress: `Another import into this twin has not ended.
    cause: The call was repeated.
    cause: Two programs import into the same twin.
    fix: Wait, then read ‹GET /v4/twin/{hostname}/binder›.`,
  import_ended: `The state was replaced while the import ran, so the import cannot say whether its rows are there.
    cause: ‹POST /_sandbox/reset› or a restored snapshot came in between.
    cause: Another process took the import over.
    fix: Read ‹GET /v4/twin/{hostname}/binder›, and import again if it is empty.`,
} satisfies ProblemPages<typeof paymentsProblems>
