import type { ProblemPages } from '../base/problem-fields.js'
import type { agentsProblems } from './problems.js'

export const agentsPages = {
  change_impossible: `The user approved a change of an account, and it cannot be made any more. ‹reason› is the code of the refusal. ‹changed› says whether parts of it were kept.
    cause: Someone changed the same values since the user saw them.
    cause: What the change needs is gone or not allowed now, such as a digital quantity or room in the plan.
    fix: Read the current values with ‹GET /v4/agent/account›, and request approval for a new change.`,
  change_incomplete: `The change has several steps, and the service failed between them. The finished steps are kept and listed in ‹made›. The approval is used.
    cause: A part of the service threw an error that is no refusal. Its log has the cause.
    fix: Look at ‹made› and at ‹GET /v4/agent/account›, then request approval for what is left.`,
  account_not_granted: `The agent acts for a user only. It may not act for a business account, because the user has granted none.
    cause: The user chose no account when they connected the app.
    cause: The user has withdrawn the account since, or no longer belongs to it.
    fix: Ask for one: ‹POST /v4/agent/account-choice› returns a link at which the user chooses.`,
  not_choosable: `An agent acts for a business account only if its user grants one, and this user belongs to none. A link to choose one would be empty.
    cause: The user was not registered together with an account.
    cause: They have not proven their email address yet.
    fix: Register an account with the email of the user: ‹POST /v4/account/register›. Then let the user sign in with a mailed code once.`,
  payment_required: `The call has a price, and the request carries no payment that pays it. Nothing was charged. ‹reason› says why a payment was refused, in the words of its dialect.
    cause: The first call of a client that pays by x402 or MPP: it reads the offer, signs it, and calls again.
    cause: The payer's address holds less than the price.
    cause: The price changed since the client signed it.
    cause: The signature has already paid for a call.
    fix: Use a client that pays, such as ‹@x402/fetch› or ‹mppx›, or sign one of the offers in ‹PAYMENT-REQUIRED› and ‹WWW-Authenticate›.
    fix: In a sandbox, fund the address: ‹farthing fund 0x… 5›.
    fix: If ‹approval_id› is there, the user approves the payment at ‹url›. Then repeat the call.`,
  payment_identifier_mismatch: `The extension ‹payment-identifier› of x402 names a payment, so that a retry is answered with the first receipt. A name stands for one payment of its payer, for a day.
    cause: The client reuses one identifier for several payments.
    cause: The price, the payee or the resource changed between two tries.
    fix: Make a new identifier for each payment, and keep it for retries of exactly that payment.`,
} satisfies ProblemPages<typeof agentsProblems>
