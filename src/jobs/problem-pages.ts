import type { ProblemPages } from '../base/problem-fields.js'
import type { jobsProblems } from './problems.js'

export const jobsPages = {
  too_many_webhooks: `An account has at most 20 webhooks. No webhook was created.
    cause: A program creates a webhook each time that it starts.
    cause: One webhook for each type of event, where one with several patterns is enough.
    fix: List them with ‹GET /v4/webhooks›, and delete those that you do not need: ‹DELETE /v4/webhooks/{id}›.
    fix: Give one webhook several ‹events›, such as ‹["payment.*", "purchase.*"]›.`,
  webhook_disabled: `A disabled webhook gets nothing, not even tests. Nothing was sent.
    cause: It did not accept an event for three days.
    cause: It answered 410 Gone.
    cause: Its account disabled it.
    fix: Read ‹disabled_reason› in ‹GET /v4/webhooks/{id}›, and the tries in ‹GET /v4/webhooks/{id}/deliveries›.
    fix: Enable it: ‹PUT /v4/webhooks/{id}› with ‹{"status": "enabled"}›.`,
  too_many_streams: `An account or a user has at most 50 streams open at once in one process, fewer while many others have some: streams of events, and subscriptions of its agents. No stream was opened.
    cause: A program opens a new stream of ‹GET /v4/events› without closing the last one.
    cause: Many tabs or agents of one user follow the same events.
    cause: Users that an account created, and whose addresses are not proven, count against that account.
    fix: Close a stream that you do not need. Each ends by itself after 10 minutes.
    fix: Follow the events once, and pass them on. Or let a webhook deliver them: ‹POST /v4/webhooks›.`,
  upstream_refused: `The service may not call this URL. The rule protects the network in which the service runs.
    cause: The host is private, such as ‹10.0.0.5› or ‹db.internal›, and the service is reachable by others.
    cause: The scheme is ‹http›. Services that are no sandbox call ‹https› only.
    cause: The URL has a user name, or leads to a cloud metadata service. Those are always refused.
    fix: In a sandbox, start it with ‹--allow-upstream <host or CIDR>›, or ‹createService({ allowUpstream: [host] })›.
    fix: Send credentials as a dispatch parameter instead of in the URL.`,
  too_many_new: `One owner may create only so many things of a kind within a day, 20,000 unless ‹limits.newPerDay› says otherwise, so that no account fills the storage of all. An owner who has made the service store 1 GiB of large answers within a day, ‹limits.storedBytesPerDay›, pays no more carts and links until it is over. What an unproven user creates counts for the account that created the user.
    cause: A test creates things in a loop that does not end.
    cause: A load test creates more than a service lets one owner create.
    fix: Wait as long as ‹Retry-After› says, or move the clock of the sandbox.
    fix: In your own service, set the limit: ‹createService({ limits: { newPerDay: 1_000_000 } })›.`,
  too_many_mails: `A person got five messages of this kind within 15 minutes. No further one was sent, and what should have been announced did not happen.
    cause: Invitations to one address come from a loop.
    cause: One page or program asked one user five times without an approval.
    cause: Tests share one user.
    fix: Wait as long as ‹Retry-After› says, then repeat the call.
    fix: In tests, use a user for each test, or advance the clock of the sandbox by 15 minutes.`,
} satisfies ProblemPages<typeof jobsProblems>
