import type { ProblemDeclarations } from '../base/problem-fields.js'

/** Webhooks, streams, upstream calls, and limits of a day. */
export const jobsProblems = {
  too_many_webhooks: `409 The account has 20 webhooks, the maximum. Delete one first.`,
  webhook_disabled: `409 This webhook is disabled. Enable it first.`,
  too_many_streams: `429 Too many streams of this account or user are open. Close one first. {limit}`,
  upstream_refused: `422 This upstream URL is not allowed. It must be http or https, without user name or password, at a host that this service allows.`,
  too_many_new: `429 This owner has created as many of these within a day as it may. Nothing was created. {of limit}`,
  too_many_mails: `429 This person got too many messages in the last 15 minutes. Nothing was sent.`,
} as const satisfies ProblemDeclarations
