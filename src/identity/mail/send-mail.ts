import { accountIdOf, type Owner, userIdOf } from '../../base/owner.js'
import { normalEmail } from '../../base/text/email.js'
import { revealInvisible, revealInvisibleLine } from '../../base/text/invisible-characters.js'
import { unlinked } from '../../base/text/quotation.js'
import { postMail } from '../../jobs/outbox/outbox.js'
import { checkRate, countRate, isRateReached, type RateLimit, uncountRate } from '../../jobs/rates/rate.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { isOwner } from '../accounts/account.js'
import { type ClientNetwork, provenUserByEmail } from '../users/user.js'

/** What happens to a mail to an address that is not proven to be its owner's, once five of its class went there. */
type Above = 'refuse' | 'drop' | 'counted'

interface MailKind {
  readonly causedBy: string
  /** Kinds of one class share their count for an address. So invitations by strangers suppress no bill and no notice about security. */
  readonly class: 'code' | 'invitation' | 'letter' | 'security'
  /** `refuse`: the call fails with `too_many_mails`. `drop`: nobody gets it. `counted`: the feature counts it itself. */
  readonly above: Above
}

export const mailKinds = {
  sign_in_code: {
    causedBy: 'Anybody who enters the address at a sign-in. `limits.codes` limits the unused ones.',
    class: 'code',
    above: 'counted',
  },
  invitation: { class: 'invitation', above: 'refuse', causedBy: 'Whoever sends value to an address.' },
  invitation_expired: { class: 'letter', above: 'drop', causedBy: 'The sender of an invitation that nobody claimed.' },
  authentication_request: {
    causedBy: 'Whoever acts as the user, and each page that the user signed in on. Each has a limit of its own too.',
    class: 'security',
    above: 'refuse',
  },
  device: { class: 'security', above: 'drop', causedBy: 'Whoever registers or removes a device of the user.' },
  client_credentials: { class: 'security', above: 'drop', causedBy: 'Whoever creates client credentials of the user.' },
  email_proven: { class: 'security', above: 'drop', causedBy: 'The reader of the address, who has just proven it.' },
  billing: {
    causedBy: "The account, by its plan and its card, and the service when it charges the account's card.",
    class: 'letter',
    above: 'drop',
  },
  webhook_disabled: { class: 'letter', above: 'drop', causedBy: 'The account, by its webhooks.' },
  refund: {
    causedBy: 'The seller of what was refunded, and whoever wrote an address into the link.',
    class: 'letter',
    above: 'drop',
  },
} as const satisfies Record<string, MailKind>

export type MailKindName = keyof typeof mailKinds

/** The one way to mail someone. Nothing else writes mails, so no feature can go around its limits. */

const most = { most: 5, windowMs: 15 * 60_000, code: 'too_many_mails' } as const

/** Mails of one class to an address that is not proven to be their owner's, from anybody. */
const toAddress = (mailClass: MailKind['class']): RateLimit => ({ kind: `mail_${mailClass}`, ...most })

/** Mails of one class to an owner, at an address that is. */
const toOwner = (mailClass: MailKind['class']): RateLimit => ({ kind: `own_mail_${mailClass}`, ...most })

interface NewMail {
  readonly kind: MailKindName
  readonly to: string
  /** Whose proven address it is: a user's, or an owner's of an account. Null: whoever causes the mail named it, and it may be anybody's. */
  readonly owner: Owner | null
  /** Whose share of the places for deliveries it takes. Default: that of its address. */
  readonly causer?: Owner | ClientNetwork | undefined
  readonly subject: string
  readonly text: string
  /** How links of the service begin: its base URL, or one whole link. All others are written so that they are none. */
  readonly ownLinks?: string
  readonly isAwaited?: boolean
  readonly staleAt?: number
  readonly at: number
}

/** Writes a mail, unless too many of its class went to its address: then it returns false, or throws `too_many_mails`. */
export async function sendMail(tx: Writer, { kind, owner, causer, ownLinks, ...mail }: NewMail): Promise<boolean> {
  const { to, at } = mail
  const { above } = mailKinds[kind]
  const counted = above === 'counted' ? undefined : await countedFor(tx, { kind, to, owner })
  if (counted) {
    const { limit, subject } = counted
    if (above === 'refuse') await checkRate(tx, limit, { subject, at })
    else if (await isRateReached(tx, limit, { subject, at })) return false
    await countRate(tx, limit, { subject, at })
  }
  const subject = unlinked(revealInvisibleLine(mail.subject))
  const text = withoutForeignLinks(revealInvisible(mail.text), ownLinks)
  await postMail(tx, { ...mail, owner: causer, subject, text })
  return true
}

type Recipient = Pick<NewMail, 'kind' | 'to' | 'owner'>

async function countedFor(tx: Reader, { kind, to, owner }: Recipient) {
  const { class: mailClass } = mailKinds[kind]
  const address = normalEmail(to)
  if (owner === null || !(await isProvenAddressOf(tx, owner, address)))
    return { limit: toAddress(mailClass), subject: address }
  // Notices about security have no limit for their owner.
  return mailClass === 'security' ? undefined : { limit: toOwner(mailClass), subject: `${owner}>${address}` }
}

async function isProvenAddressOf(tx: Reader, owner: Owner, address: string): Promise<boolean> {
  const reader = await provenUserByEmail(tx, address)
  const accountId = accountIdOf(owner)
  if (!reader) return false
  return accountId === undefined ? reader.id === userIdOf(owner) : isOwner(tx, accountId, reader.id)
}

export async function checkMail(tx: Reader, { at, ...recipient }: Recipient & { readonly at: number }): Promise<void> {
  const counted = await countedFor(tx, recipient)
  if (counted) await checkRate(tx, counted.limit, { subject: counted.subject, at })
}

/** Stops counting a mail of the time `at`, because its reader did what it asked for. */
export async function refundMail(tx: Writer, { at, ...recipient }: Recipient & { readonly at: number }): Promise<void> {
  const counted = await countedFor(tx, recipient)
  if (counted) await uncountRate(tx, counted.limit, { subject: counted.subject, at })
}

/** The text, in which mail programs find only links that begin with `own`. */
function withoutForeignLinks(text: string, own: string | undefined): string {
  if (own === undefined) return unlinked(text)
  const parts: string[] = []
  let from = 0
  for (let at = text.indexOf(own); at >= 0; at = text.indexOf(own, at + 1)) {
    if (at < from) continue
    REST_OF_LINK.lastIndex = at + own.length
    if (!REST_OF_LINK.test(text)) continue
    parts.push(unlinked(text.slice(from, at)), text.slice(at, REST_OF_LINK.lastIndex))
    from = REST_OF_LINK.lastIndex
  }
  return [...parts, unlinked(text.slice(from))].join('')
}

/** What may come after the start of an own link. The address of another host may begin like ours. */
const REST_OF_LINK = /(?:\/\S*)?(?=[.,;:]?(?:\s|$))/y
