import { accountIdOf, type Owner } from '../../base/owner.js'
import { required } from '../../base/required.js'
import { isPlainLine, revealInvisibleLine } from '../../base/text/invisible-characters.js'
import { quoted, shownAddress, unlinked } from '../../base/text/quotation.js'
import { minuteText } from '../../base/time.js'
import { accounts, sellerName } from '../../identity/accounts/account.js'
import { provenEmailOf } from '../../identity/users/user.js'
import { amountText } from '../../money/digital-quantities/digital-quantity.js'
import { twins } from '../../money/twins/twin.js'
import { getExisting } from '../../storage/existing.js'
import type { Reader } from '../../storage/storage.js'
import type { TransferRow } from './transfer.js'

/** What the recipient reads in the mail and on its page. Nobody can choose the `hostname`, unlike the name of an account. */
export type Invitation = Awaited<ReturnType<typeof invitationOf>>

export async function invitationOf(tx: Reader, transfer: TransferRow) {
  const { sender_owner, sender_twin_id, address: email, memo, expires_at } = transfer
  const { hostname } = await getExisting(tx, twins, sender_twin_id)
  const sender = await senderName(tx, sender_owner)
  return {
    sender: sender ?? hostname,
    hostname,
    amount: await amountText(tx, transfer),
    email,
    memo,
    until: minuteText(required(expires_at, `the end of invitation ${transfer.id}`)),
  }
}

/** An account's name in quotation marks, or a user's proven email. */
async function senderName(tx: Reader, owner: Owner): Promise<string | undefined> {
  const id = accountIdOf(owner)
  if (id === undefined) {
    const email = await provenEmailOf(tx, owner)
    return email && shownAddress(email)
  }
  const account = await tx.get(accounts, id)
  const name = account && sellerName(account)
  return name ? quoted([...name].slice(0, MAX_NAME).join('')) : undefined
}

const MAX_MEMO = 140

/** Whether a text can be a memo: one line of at most 140 visible characters. */
export const isMemo = (text: string): boolean => [...text].length <= MAX_MEMO && isPlainLine(text)

const MAX_NAME = 80

export function invitationMail(invitation: Invitation, link: string) {
  const { hostname, amount, memo, until } = invitation
  // An account chooses its own name. Addresses and hostnames are checked.
  const sender = invitation.sender.startsWith('“') ? unlinked(invitation.sender) : invitation.sender
  const text = [
    `${sender} sends you ${amount} from the wallet ${hostname}.`,
    `You can claim it here until ${until}:\n${link}`,
    // Marked like a quotation in mail, so that it cannot pass for our own text.
    ...(memo === null ? [] : [`Their message:\n> ${unlinked(revealInvisibleLine(memo))}`]),
    'If you do not want it, do nothing, and it goes back.',
  ].join('\n\n')
  return { subject: `${sender} sends you ${amount}`, text }
}

export const expiredMail = ({ amount, email }: Invitation) => ({
  subject: `${amount} came back to you`,
  text: `${shownAddress(email)} did not claim ${amount} in time. It is back in your wallet.`,
})
