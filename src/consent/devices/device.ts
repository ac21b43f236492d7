import { problem } from '../../base/problem.js'
import { digest, sameSecret } from '../../base/secrets.js'
import { quoted, unlinked } from '../../base/text/quotation.js'
import { minuteText, seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { sendMail } from '../../identity/mail/send-mail.js'
import { recordUserEvent, users } from '../../identity/users/user.js'
import { getExisting, getOrNotFound, newestFirst, type PageBounds } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'

/** `mobile`: a phone whose app names no system, as existing clients register. */
export const platforms = ['ios', 'android', 'web', 'mobile'] as const
type Platform = (typeof platforms)[number]
const MAX_DEVICES = 20
/** Limit on unconfirmed devices, counted separately. A new one removes the oldest. */
const MAX_UNCONFIRMED = 5

/** A device on which a user answers authentication requests. */
export interface DeviceRow {
  readonly id: number
  readonly user_id: number
  readonly platform: Platform
  readonly name: string | null
  /** The device's own id for itself, if it sent one. */
  readonly device_id: string | null
  /** Digest of the token that the device sends as `X-Device-Token`. */
  readonly token_digest: string
  /** The push token, encrypted. */
  readonly token_sealed: string
  readonly created_at: number
  /** The change that waits for confirmation. Null for an active device. */
  readonly change: DeviceChange | null
}

/** A change that the user confirms on an active device or by a mailed link. */
export interface DeviceChange {
  /** Until it is confirmed, an added device gets no requests and cannot answer any. */
  readonly kind: 'add' | 'remove'
  /** Id of the device that this one replaces. */
  readonly replaces: number | null
  readonly link_digest: string
  /** The period in which the link can confirm, in Unix milliseconds. */
  readonly link_from: number
  readonly link_until: number
}

export const devices = collection<DeviceRow>()(
  'devices',
  { byUser: { fields: ['user_id'] } },
  {
    refs: { device_id: null, user_id: 'users' },
    secrets: ['token_digest', 'token_sealed'],
    growth: { by: 'a user, by createRegistration', most: 20, per: 'user', beyond: 'too_many_devices' },
    retention: { until: 'the user removes the device, or it is not confirmed in time' },
  },
)

export interface NewDevice {
  readonly userId: number
  readonly platform: Platform
  readonly token: string
  readonly name?: string | undefined
  readonly deviceId?: string | undefined
  readonly at: number
}

interface DeviceRegistration {
  readonly row: DeviceRow
  /** True if the token is registered already. Then only the name and platform change. */
  readonly isKnown: boolean
  /** The device that this one replaces: same `device_id`, different token. */
  readonly former: DeviceRow | undefined
}

/** Plans a registration. A new token always gets a new id, so that it cannot answer earlier requests. Throws `too_many_devices`. */
export async function planRegistration(
  tx: Writer,
  { userId, platform, token, name, deviceId, at }: NewDevice,
  { keys }: Pick<ServiceContext, 'keys'>,
): Promise<DeviceRegistration> {
  const own = await currentDevicesOf(tx, userId, at)
  const token_digest = digest(token)
  const known = own.find((device) => device.token_digest === token_digest)
  const former = known ?? own.find((device) => deviceId !== undefined && device.device_id === deviceId)
  // One that is not active takes no active one's place.
  if (!(former && isActive(former)) && own.filter(isActive).length >= MAX_DEVICES) throw problem('too_many_devices')
  const id = known?.id ?? (await tx.nextId('devices'))
  const row: DeviceRow = {
    id,
    user_id: userId,
    platform,
    name: name ?? former?.name ?? null,
    device_id: deviceId ?? former?.device_id ?? null,
    token_digest,
    token_sealed: known?.token_sealed ?? (await keys.seal(token, sealContext(id))),
    created_at: known?.created_at ?? at,
    change: known?.change ?? null,
  }
  return { row, isKnown: known !== undefined, former: known ? undefined : former }
}

export async function addDevice(
  tx: Writer,
  { row, isKnown, former }: DeviceRegistration,
  { at, isMailed }: { at: number; isMailed: boolean },
): Promise<DeviceRow> {
  if (former) tx.remove(devices, former.id)
  tx.put(devices, row)
  await updatePlatforms(tx, row.user_id, at)
  if (isKnown) return row
  await recordDeviceEvent(tx, 'device_added', row, at)
  if (isMailed) await mailUser(tx, row, { what: 'added' }, at)
  return row
}

/** Stores a change that waits for confirmation, and mails the user a link to confirm it. */
export async function storeChange(
  tx: Writer,
  device: DeviceRow & { readonly change: DeviceChange },
  { link, at }: { link: string; at: number },
): Promise<void> {
  const unconfirmed = (await currentDevicesOf(tx, device.user_id, at)).filter((each) => !isActive(each))
  for (const old of unconfirmed.slice(0, Math.max(0, unconfirmed.length + 1 - MAX_UNCONFIRMED)))
    tx.remove(devices, old.id)
  const { change } = device
  tx.put(devices, device)
  await recordDeviceEvent(tx, change.kind === 'add' ? 'device_waits' : 'device_removal_waits', device, at)
  await mailUser(tx, device, { what: change.kind, link, from: change.link_from }, at)
}

/** Applies a confirmed change, or discards a rejected one. */
export async function settleChange(
  tx: Writer,
  { change, ...rest }: DeviceRow,
  { confirmed, at }: { confirmed: boolean; at: number },
): Promise<void> {
  if (!change) return
  const device: DeviceRow = { ...rest, change: null }
  if (change.kind === 'remove') return confirmed ? removeDevice(tx, device, at) : tx.put(devices, device)
  const former = change.replaces === null ? undefined : await tx.get(devices, change.replaces)
  // Others may have become active since it was registered.
  const hasRoom = (former && isActive(former)) || !(await isFull(tx, device.user_id))
  if (!confirmed || !hasRoom) {
    tx.remove(devices, device.id)
    return recordDeviceEvent(tx, 'device_refused', device, at)
  }
  await addDevice(tx, { row: device, isKnown: false, former }, { at, isMailed: true })
}

/** Removes a device. If it was active, mails its user. */
export async function removeDevice(tx: Writer, device: DeviceRow, at: number): Promise<void> {
  await remove(tx, device, at)
  if (isActive(device)) await mailUser(tx, device, { what: 'removed' }, at)
}

/** Removes every device of a user without mailing them. Returns how many were active. */
export async function removeAllDevices(tx: Writer, userId: number, at: number): Promise<number> {
  const own = await rowsOf(tx, userId)
  for (const device of own) await remove(tx, device, at)
  return own.filter(isActive).length
}

async function remove(tx: Writer, device: DeviceRow, at: number): Promise<void> {
  tx.remove(devices, device.id)
  if (!isActive(device)) return
  await updatePlatforms(tx, device.user_id, at)
  await recordDeviceEvent(tx, 'device_removed', device, at)
}

/** A device of the user. Throws `not_found`, also for a device of a different user. */
export const ownDevice = (tx: Reader, userId: number, id: number): Promise<DeviceRow> =>
  getOrNotFound(tx, devices, id, { user_id: userId })

export async function listRegistrations(tx: Reader, userId: number, page: PageBounds) {
  const { rows, next } = await newestFirst(tx, devices, { index: 'byUser', prefix: [userId], ...page })
  const shown = rows.map((row) => ({ ...showDevice(row), ...(!isActive(row) && { active: false as const }) }))
  return { registrations: shown, next }
}

const isActive = ({ change }: DeviceRow): boolean => change?.kind !== 'add'

export const activeDevicesOf = async (tx: Reader, userId: number): Promise<DeviceRow[]> =>
  (await rowsOf(tx, userId)).filter(isActive)

const isFull = async (tx: Reader, userId: number): Promise<boolean> =>
  (await activeDevicesOf(tx, userId)).length >= MAX_DEVICES

/** Active and unconfirmed devices. Removes the unconfirmed ones whose link has expired. */
async function currentDevicesOf(tx: Writer, userId: number, at: number): Promise<DeviceRow[]> {
  const own = await rowsOf(tx, userId)
  const isOver = (device: DeviceRow) => !isActive(device) && (device.change?.link_until ?? 0) <= at
  for (const device of own) if (isOver(device)) tx.remove(devices, device.id)
  return own.filter((device) => !isOver(device))
}

const rowsOf = (tx: Reader, userId: number): Promise<DeviceRow[]> =>
  tx.find(devices, { index: 'byUser', prefix: [userId], limit: 2 * (MAX_DEVICES + MAX_UNCONFIRMED) })

/** Whether the user has an active device. Users without one get requests by mail. */
export const hasDevice = async (tx: Reader, userId: number): Promise<boolean> =>
  (await activeDevicesOf(tx, userId)).length > 0

export async function deviceByToken(tx: Reader, userId: number, token: string): Promise<DeviceRow | undefined> {
  const presented = digest(token)
  return (await activeDevicesOf(tx, userId)).find((device) => sameSecret(device.token_digest, presented))
}

/** The push token of a device, or undefined if a different key encrypted it. */
export const pushToken = (device: DeviceRow, { keys }: Pick<ServiceContext, 'keys'>): Promise<string | undefined> =>
  keys.open(device.token_sealed, sealContext(device.id))

const sealContext = (id: number): string => `devices:${id}:token`

async function updatePlatforms(tx: Writer, userId: number, at: number): Promise<void> {
  const user = await getExisting(tx, users, userId)
  const own = await activeDevicesOf(tx, userId)
  const has = (platform: Platform) => own.some((device) => device.platform === platform)
  const [is_ios, is_android] = [has('ios'), has('android')]
  if (is_ios === user.is_ios && is_android === user.is_android) return
  tx.put(users, { ...user, is_ios, is_android, updated_at: at })
}

const recordDeviceEvent = (
  tx: Writer,
  what: 'device_waits' | 'device_added' | 'device_refused' | 'device_removal_waits' | 'device_removed',
  { id, user_id, platform, name }: DeviceRow,
  at: number,
): Promise<void> =>
  recordUserEvent(tx, user_id, { type: `second_factor.${what}`, subject: `device:${id}`, data: { platform, name }, at })

/** Whoever has proven the address gets every mail about their security. */
async function mailUser(tx: Writer, device: DeviceRow, letter: DeviceMail, at: number): Promise<void> {
  const { email: to } = await getExisting(tx, users, device.user_id)
  const ownLinks = 'link' in letter ? { ownLinks: letter.link } : {}
  const owner = `user:${device.user_id}` as const
  await sendMail(tx, { kind: 'device', to, owner, ...deviceMail(device, letter), ...ownLinks, at })
}

export const showDevice = ({ id, platform, name, created_at }: DeviceRow) => ({
  id,
  platform,
  name,
  created_at: seconds(created_at),
})

type NamedDevice = Pick<DeviceRow, 'platform' | 'name'>
const platformNames = { ios: 'iOS', android: 'Android', web: 'a browser', mobile: 'a phone' } as const

/** A device in text for people. Its name is quoted, because anybody who registers a device chooses it. */
export const deviceText = ({ platform, name }: NamedDevice): string =>
  name ? `${quoted(name)} (${platformNames[platform]})` : `a device (${platformNames[platform]})`

type DeviceMail =
  | { readonly what: 'added' | 'removed' }
  /** `from`: when the link starts to work, in Unix milliseconds. */
  | { readonly what: 'add' | 'remove'; readonly link: string; readonly from: number }

function deviceMail(device: NamedDevice, letter: DeviceMail): { subject: string; text: string } {
  const named = unlinked(deviceText(device))
  switch (letter.what) {
    case 'added':
      return {
        subject: 'A device was added',
        text: `From now on you can approve requests on ${named}.\n\nIf you did not add it, sign in and remove it.`,
      }
    case 'removed':
      return {
        subject: 'A device was removed',
        text: `You can no longer approve requests on ${named}.\n\nIf you did not remove it, sign in and add your device again.`,
      }
    case 'add':
    case 'remove':
      return {
        subject: letter.what === 'add' ? 'Confirm a new device' : 'Confirm the removal of a device',
        text: [
          letter.what === 'add'
            ? `Someone who is signed in as you wants to add ${named}, and approve requests on it.`
            : `Someone who is signed in as you wants to remove ${named}, on which you approve requests.`,
          'Approve or reject this on one of your devices.',
          `If you have no device at hand, you can confirm it with this link from ${minuteText(letter.from)}:\n${letter.link}`,
          'If this was not you, open the link now and reject it.',
        ].join('\n\n'),
      }
  }
}

export const deviceFeature = { collections: [devices] }
