import { problem } from '../../base/problem.js'
import { base64url, digest, sameSecret } from '../../base/secrets.js'
import { isCurrent } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import type { Reader, Writer } from '../../storage/storage.js'
import {
  addDevice,
  type DeviceChange,
  type DeviceRow,
  deviceByToken,
  devices,
  deviceText,
  hasDevice,
  type NewDevice,
  ownDevice,
  planRegistration,
  removeDevice,
  settleChange,
  storeChange,
} from '../devices/device.js'
import { requireSecondFactor } from '../second-factor/request.js'

const DAY = 24 * 3_600_000
/** How long a mailed link works, once it starts to. */
const LINK_LIFETIME = 7 * DAY

export interface DeviceChanger {
  readonly userId: number
  /** `X-Device-Token`: proves that the call comes from a device of the user. */
  readonly deviceToken: string | null
  readonly sessionId: string | undefined
  readonly at: number
}

export { listRegistrations, platforms, showDevice } from '../devices/device.js'

type Context = Pick<ServiceContext, 'keys' | 'random' | 'baseUrl'>

/**
 * Registers a device. It is active at once if it is the user's first, or if an active device registers it. Otherwise an active
 * device or a mailed link must confirm it. Throws `too_many_devices`, `too_many_pending`, `too_many_mails`.
 */
export async function createRegistration(tx: Writer, order: NewDevice & DeviceChanger, context: Context) {
  const registration = await planRegistration(tx, order, context)
  const { row, isKnown, former } = registration
  if (isKnown || !(await needsConfirmation(tx, order)))
    return addDevice(tx, registration, { at: order.at, isMailed: true })
  await awaitConfirmation(tx, row, { ...order, kind: 'add', replaces: former?.id ?? null }, context)
  return row
}

/**
 * Removes a device. This happens at once if it is not active yet, or if an active device removes it. Otherwise an active device
 * or a mailed link must confirm it. Throws `not_found`, also for a device of a different user, `too_many_pending`, `too_many_mails`.
 */
export async function deleteRegistration(
  tx: Writer,
  { id, ...changing }: DeviceChanger & { id: number },
  context: Context,
) {
  const device = await ownDevice(tx, changing.userId, id)
  if (device.change?.kind === 'add' || !(await needsConfirmation(tx, changing)))
    return removeDevice(tx, device, changing.at)
  await awaitConfirmation(tx, device, { ...changing, kind: 'remove', replaces: null }, context)
}

const needsConfirmation = async (tx: Reader, { userId, deviceToken }: DeviceChanger): Promise<boolean> =>
  (await hasDevice(tx, userId)) && !(deviceToken && (await deviceByToken(tx, userId, deviceToken)))

async function awaitConfirmation(
  tx: Writer,
  device: DeviceRow,
  { userId, sessionId, kind, replaces, at }: DeviceChanger & Pick<DeviceChange, 'kind' | 'replaces'>,
  { random, baseUrl }: Context,
): Promise<void> {
  const token = base64url(random.bytes(32))
  const link_from = at + DAY
  const change = { kind, replaces, link_digest: digest(token), link_from, link_until: link_from + LINK_LIFETIME }
  const link = `${baseUrl}/v4/notifications/registrations/${device.id}/confirm?token=${token}`
  await storeChange(tx, { ...device, change }, { link, at })
  const order = { userId, sessionId, action: `${kind}_device`, detail: { device: deviceText(device) }, at }
  await requireSecondFactor(tx, { ...order, deviceId: device.id }, { random, baseUrl })
}

/** The device of a mailed link, and the change that it confirms. Throws `not_found`, also for a wrong token, and `link_expired`. */
export async function changeOfLink(tx: Reader, { id, token, at }: { id: number; token: string; at: number }) {
  const device = await tx.get(devices, id)
  const { change } = device ?? {}
  if (!device || !change || !sameSecret(change.link_digest, digest(token))) throw problem('not_found')
  if (!isCurrent(change.link_until, LINK_LIFETIME + DAY, at)) throw problem('link_expired')
  return { ...device, change }
}

/** Confirms or rejects a change through a mailed link. Throws like `changeOfLink`, and `link_early` for a confirmation that comes too soon. */
export async function answerDeviceLink(
  tx: Writer,
  { answer, ...link }: { id: number; token: string; answer: 'confirm' | 'reject'; at: number },
): Promise<DeviceRow & { readonly change: DeviceChange }> {
  const device = await changeOfLink(tx, link)
  const confirmed = answer === 'confirm'
  if (confirmed && device.change.link_from > link.at) throw problem('link_early')
  await settleChange(tx, device, { confirmed, at: link.at })
  return device
}
