import { type Address, addressIn, addressOfKey, type Hex } from '../../../agents/wallets/evm.js'
import { ensureUsdc } from '../../../agents/wallets/networks.js'
import { createWalletTwin, twinOfAddress } from '../../../agents/wallets/wallet.js'
import { type WalletRow, wallets } from '../../../agents/wallets/wallet-row.js'
import { userIdOf } from '../../../base/owner.js'
import { problem } from '../../../base/problem.js'
import { required } from '../../../base/required.js'
import { hexOf } from '../../../base/secrets.js'
import { type ConnectionRow, connectionOf, findAgentTwin, findConnection } from '../../../consent/oidc/connection.js'
import { type DelegateRow, delegates } from '../../../consent/personas/delegate.js'
import { personaOf } from '../../../consent/personas/persona.js'
import type { Party } from '../../../consent/personas/spending.js'
import type { ServiceContext } from '../../../http/context.js'
import { accountByPublicSecret } from '../../../identity/accounts/account.js'
import { clients } from '../../../identity/tokens/token.js'
import { showTwins, type TwinRow, twinByHostname, twins } from '../../../money/twins/twin.js'
import { allRows, getExisting } from '../../../storage/page.js'
import type { Reader, Writer } from '../../../storage/storage.js'
import { type Funded, type FundOrder, fundTwin } from './fund.js'
import { type AccountNames, payeeNamed, twinOwner } from './names.js'
import type { Seed } from './seed-schema.js'

/** What an address pays from: exactly one of a twin, a delegate's spending authority, and an app's connection. */
export interface WalletOrder {
  /** The hostname of a twin. Whoever has the key can spend all that it holds. */
  readonly twin?: string | undefined
  /** The hash of a delegate that lets somebody spend. */
  readonly delegate?: string | undefined
  /** The id of an app's connection. Payments above the threshold of its user need approvals. */
  readonly connection?: number | undefined
  /** A test key. It is never stored. Default: one that is derived, and returned. */
  readonly private_key?: string | undefined
  /** The address of a key that the sandbox does not know. */
  readonly address?: string | undefined
}

/** An address of x402 and MPP, and the twin that it pays from. */
export interface LinkedWallet {
  address: string
  hostname: string
  /** By the hash of the digital quantity. */
  balances: Record<string, number>
  delegate?: string
  connection?: number
  /** Only of a derived key. */
  private_key?: string
}

/** What a wallet pays from, and as whom. The subject names it for the key that is derived. */
interface WalletLink extends Pick<WalletRow, 'party' | 'delegate'> {
  readonly twin: TwinRow
  readonly subject: string
}

/** Links an address to a twin, or a key that is derived. Throws `not_found`, `field_invalid`, `already_exists`. */
export async function linkWallet(tx: Writer, order: WalletOrder, service: ServiceContext): Promise<LinkedWallet> {
  const { twin, subject, party, delegate } = await linkIn(tx, order)
  const address = givenAddress(order) ?? addressOf(derivedKey(subject, service))
  const known = await tx.get(wallets, address)
  const other = known ? known.twin_id !== twin.id || known.delegate !== delegate : await twinOfAddress(tx, address)
  if (other) throw problem('already_exists', { detail: `The address ${address} pays from a twin already.` })
  const row: WalletRow = {
    ...{ id: address, twin_id: twin.id, linked_at: service.clock.now() },
    ...(party && { party }),
    ...(delegate !== undefined && { delegate }),
  }
  if (!known) tx.put(wallets, row)
  const [shown] = await showWallets(tx, [known ?? row], service)
  return required(shown, `the wallet ${address}`)
}

/** Lists the linked wallets, and those that signed or were funded unlinked. */
export async function listWallets(tx: Reader, service: ServiceContext): Promise<LinkedWallet[]> {
  const linked: WalletRow[] = []
  for await (const row of allRows(tx, wallets, { index: 'id', prefix: [] })) linked.push(row)
  const owned = await tx.find(twins, { index: 'byOwner', prefix: [], after: ['wallet:'], limit: MOST_UNLINKED })
  const unlinked = owned.filter(({ owner }) => owner.startsWith('wallet:'))
  const rows = [...linked, ...unlinked.map(({ id: twin_id, owner }) => ({ id: addressOfOwner(owner), twin_id }))]
  return showWallets(tx, rows, service)
}

const addressOfOwner = (owner: string): Address =>
  required(addressIn(owner.slice('wallet:'.length)), `the address of ${owner}`)

const MOST_UNLINKED = 1000

/** Issues value to the twin of an address, which is made if it is missing. Default of the digital quantity: USDC. */
export async function fundAddress(
  tx: Writer,
  { address: text, dq, ...order }: FundOrder,
  service: ServiceContext,
): Promise<Funded> {
  const address = addressIn(text ?? '')
  if (address === undefined) throw wrongAddress('address')
  const usdc = dq ?? (await ensureUsdc(tx, service)).id
  const twin =
    (await twinOfAddress(tx, address)) ??
    (await createWalletTwin(tx, { address, dq: usdc, at: service.clock.now() }, service))
  return fundTwin(tx, twin, { ...order, dq: usdc }, service)
}

async function linkIn(tx: Reader, { twin, delegate, connection }: WalletOrder): Promise<WalletLink> {
  if ([twin, delegate, connection].filter((name) => name !== undefined).length !== 1)
    throw problem('field_invalid', { detail: 'Send exactly one of "twin", "delegate" and "connection".' })
  if (twin !== undefined) {
    const found = await twinByHostname(tx, twin)
    if (!found) throw problem('not_found', { detail: `No twin has the hostname "${twin}".` })
    return { twin: found, subject: `twin:${found.address}` }
  }
  if (delegate !== undefined) return delegateLink(tx, delegate)
  const found = await findConnection(tx, connection ?? 0)
  if (!found) throw problem('not_found', { detail: `No app is connected by the connection ${connection}.` })
  const agentTwin = await findAgentTwin(tx, found.user_id)
  if (!agentTwin) throw problem('not_found', { detail: 'The user has no agent twin.' })
  return { twin: agentTwin, subject: `connection:${found.id}`, party: agentOf(found) }
}

const agentOf = ({ id, user_id, client_id, account_id }: ConnectionRow): Party => ({
  ...{ kind: 'agent', owner: `user:${user_id}`, user_id, client_id, connection_id: id, account_id },
})

async function delegateLink(tx: Reader, hash: string): Promise<WalletLink> {
  const row = await tx.get(delegates, hash)
  const party = row && (await holderOf(tx, row))
  if (!row || !party)
    throw problem('not_found', { detail: 'No delegate with this hash lets somebody spend who is there.' })
  const { twin_id } = await personaOf(tx, row.persona)
  return { twin: await getExisting(tx, twins, twin_id), subject: `delegate:${hash}`, party, delegate: hash }
}

/** The party that a delegate lets spend. */
async function holderOf(tx: Reader, { spend, persona_owner }: DelegateRow): Promise<Party | undefined> {
  if (!spend) return undefined
  if ('public_secret' in spend.party) {
    const account = await accountByPublicSecret(tx, spend.party.public_secret)
    return account && { kind: 'embed', account_id: account.id }
  }
  const { client_id } = spend.party
  const client = await tx.get(clients, client_id)
  if (client?.owner_kind === 'account') return { kind: 'account', id: client.owner_id }
  if (client) return { kind: 'user', id: client.owner_id, owner: `user:${client.owner_id}` }
  const userId = userIdOf(persona_owner)
  const connection = userId === undefined ? undefined : await connectionOf(tx, userId, client_id)
  return connection && agentOf(connection)
}

/** Undefined if neither a key nor an address is given. Throws `field_invalid`. */
function givenAddress({ private_key, address }: WalletOrder): Address | undefined {
  const given = address === undefined ? undefined : addressIn(address)
  if (address !== undefined && given === undefined) throw wrongAddress('address')
  if (private_key === undefined) return given
  const own = addressOfKey(bytesOf(private_key))
  if (own === undefined) throw wrongAddress('private_key', 'must be a private key: 0x and 64 hex digits')
  if (given !== undefined && given !== own) throw wrongAddress('address', `must be that of the private key, ${own}`)
  return own
}

const wrongAddress = (field: string, must = 'must be 0x and 40 hex digits') =>
  problem('field_invalid', { detail: `"${field}" ${must}.`, fields: { field } })

const bytesOf = (hex: string): Uint8Array =>
  Uint8Array.from(hex.slice(2).match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))

/** A test key, which is never stored. */
const derivedKey = (subject: string, { keys }: Pick<ServiceContext, 'keys'>): Uint8Array =>
  keys.derive('wallet key', subject)

function addressOf(key: Uint8Array): Address {
  const address = addressOfKey(key)
  if (address === undefined) throw new Error('a derived key is no private key')
  return address
}

type WalletFacts = Pick<WalletRow, 'id' | 'twin_id' | 'delegate' | 'party'>

/** In a few reads, however many there are. */
async function showWallets(tx: Reader, rows: readonly WalletFacts[], service: ServiceContext): Promise<LinkedWallet[]> {
  const found = await tx.getMany(
    twins,
    rows.map(({ twin_id }) => twin_id),
  )
  const owned = found.map((twin, i) => required(twin, `the twin of wallet ${rows[i]?.id}`))
  const shown = await showTwins(tx, owned, service)
  return rows.flatMap((row, i) => {
    const [twin, { hostname, balances } = {}] = [owned[i], shown[i]]
    return twin && hostname && balances ? [{ ...walletFacts(row, twin, service), hostname, balances }] : []
  })
}

function walletFacts({ id: address, delegate, party }: WalletFacts, twin: TwinRow, service: ServiceContext) {
  const connection = delegate === undefined && party?.kind === 'agent' ? party.connection_id : undefined
  const subject = subjectOf({ delegate, connection, twin })
  const key = derivedKey(subject, service)
  return {
    address,
    ...(delegate !== undefined && { delegate }),
    ...(connection !== undefined && { connection }),
    ...(addressOfKey(key) === address && { private_key: `0x${hexOf(key)}` satisfies Hex }),
  }
}

/** What a derived key is derived from. */
function subjectOf({
  delegate,
  connection,
  twin,
}: {
  delegate?: string | undefined
  connection?: number | undefined
  twin: TwinRow
}) {
  if (delegate !== undefined) return `delegate:${delegate}`
  return connection === undefined ? `twin:${twin.address}` : `connection:${connection}`
}

/** A wallet that a seed linked. */
export interface SeededWallet {
  address: string
  hostname: string
  /** In USDC. */
  balance: number
  /** Only of a derived key. */
  private_key?: string
}

export async function plantWallets(
  tx: Writer,
  items: NonNullable<Seed['wallets']>,
  names: AccountNames,
  service: ServiceContext,
): Promise<SeededWallet[]> {
  const made: SeededWallet[] = []
  for (const { hostname: named, private_key, balance = 0, ...whose } of items) {
    const twin = await payeeNamed(tx, await twinOwner(tx, whose, names), named)
    if (!twin) throw problem('twin_unknown', { detail: `The seed links a wallet to "${named}". Add that twin.` })
    const wallet = await linkWallet(tx, { twin: twin.hostname, private_key }, service)
    const { id: dq } = await ensureUsdc(tx, service)
    if (balance !== 0) await fundTwin(tx, twin, { amount: balance, dq }, service)
    const { address, hostname, private_key: derived } = wallet
    made.push({ address, hostname, balance, ...(derived !== undefined && { private_key: derived }) })
  }
  return made
}
