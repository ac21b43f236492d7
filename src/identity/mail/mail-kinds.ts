/** What happens to a mail to an address that is not proven to be its owner's, once five of its class went there. */
type Above = 'refuse' | 'drop' | 'counted'

/** One kind of mail. */
export interface MailKind {
  /** Who causes it, in words. */
  readonly causedBy: string
  /**
   * Kinds of one class share their count for an address, whoever causes them. Classes are apart, so that invitations by
   * strangers suppress no bill and no notice about security.
   */
  readonly class: 'code' | 'invitation' | 'letter' | 'security'
  /** `refuse`: the call fails with `too_many_mails`. `drop`: nobody gets it. `counted`: the feature counts it itself. */
  readonly above: Above
  /** Whether its owner gets at most five in a quarter of an hour too. Notices about security have no such limit. */
  readonly isLimitedForOwner: boolean
}

/** Every kind of mail that the service sends. */
export const mailKinds = {
  sign_in_code: {
    causedBy: 'Anybody who enters the address at a sign-in. `limits.codes` limits the unused ones.',
    class: 'code',
    above: 'counted',
    isLimitedForOwner: true,
  },
  invitation: {
    causedBy: 'Whoever sends value to an address.',
    class: 'invitation',
    above: 'refuse',
    isLimitedForOwner: true,
  },
  invitation_expired: {
    causedBy: 'The sender of an invitation that nobody claimed.',
    class: 'letter',
    above: 'drop',
    isLimitedForOwner: true,
  },
  authentication_request: {
    causedBy: 'Whoever acts as the user, and each page that the user signed in on. Each has a limit of its own too.',
    class: 'security',
    above: 'refuse',
    isLimitedForOwner: false,
  },
  device: {
    causedBy: 'Whoever registers or removes a device of the user.',
    class: 'security',
    above: 'drop',
    isLimitedForOwner: false,
  },
  client_credentials: {
    causedBy: 'Whoever creates client credentials of the user.',
    class: 'security',
    above: 'drop',
    isLimitedForOwner: false,
  },
  email_proven: {
    causedBy: 'The reader of the address, who has just proven it.',
    class: 'security',
    above: 'drop',
    isLimitedForOwner: false,
  },
  billing: {
    causedBy: "The account, by its plan and its card, and the service when it charges the account's card.",
    class: 'letter',
    above: 'drop',
    isLimitedForOwner: true,
  },
  webhook_disabled: {
    causedBy: 'The account, by its webhooks.',
    class: 'letter',
    above: 'drop',
    isLimitedForOwner: true,
  },
  refund: {
    causedBy: 'The seller of what was refunded, and whoever wrote an address into the link.',
    class: 'letter',
    above: 'drop',
    isLimitedForOwner: true,
  },
} as const satisfies Record<string, MailKind>

export type MailKindName = keyof typeof mailKinds
