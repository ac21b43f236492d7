import type { ServiceContext } from '../context.js'
import { recordEvent } from '../events/event.js'
import { problem } from '../problem.js'
import { digest, sameSecret } from '../secrets.js'
import { newestFirst } from '../storage/page.js'
import { collection, type Reader, type Writer } from '../storage/storage.js'
import { seconds } from '../time.js'
import { type UserRow, users } from '../users/user.js'

export const platforms = ['ios', 'android', 'web'] as const
export type Platform = (typeof platforms)[number]

const MOST_DEVICES = 20

/** A device that a user has registered to be asked on. */
export interface DeviceRow {
  readonly id: number
  readonly user_id: number
  readonly platform: Platform
  readonly name: string | null
  /** What the device calls itself, where it says so. */
  readonly device_id: string | null
  /** Compared with the `X-Device-Token` of an answer. */
  readonly token_digest: string
  /** What a push needs, encrypted. */
  readonly token_sealed: string
  readonly created_at: number
}

export const devices = collection<DeviceRow>()('devices', { byUser: { fields: ['user_id'] } })

export interface NewDevice {
  readonly userId: number
  readonly platform: Platform
  readonly token: string
  readonly name?: string | undefined
  readonly deviceId?: string | undefined
  readonly at: number
}

/**
 * Registers a device: again under its own id where the token is known, in the place of the old one where it comes back with another token.
 * A new token is a new id, so that whoever sets it answers nothing that was asked before. Throws `too_many_devices`.
 */
export async function registerDevice(
  tx: Writer,
  { userId, platform, token, name, deviceId, at }: NewDevice,
  { keys }: Pick<ServiceContext, 'keys'>,
): Promise<DeviceRow> {
  const own = await devicesOf(tx, userId)
  const token_digest = digest(token)
  const known = own.find((device) => device.token_digest === token_digest)
  const former = known ?? own.find((device) => deviceId !== undefined && device.device_id === deviceId)
  if (!former && own.length >= MOST_DEVICES) throw problem('too_many_devices')
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
  }
  if (former && !known) tx.remove(devices, former.id)
  tx.put(devices, row)
  await showPlatforms(tx, userId, at)
  if (!known) await tell(tx, 'second_factor.device_added', row, at)
  return row
}

/** Takes a device from its user. Throws `not_found`, for another's too. */
export async function removeDevice(
  tx: Writer,
  { userId, id, at }: { userId: number; id: number; at: number },
): Promise<void> {
  const device = await tx.get(devices, id)
  if (device?.user_id !== userId) throw problem('not_found')
  tx.remove(devices, id)
  await showPlatforms(tx, userId, at)
  await tell(tx, 'second_factor.device_removed', device, at)
}

export async function listDevices(
  tx: Reader,
  userId: number,
  page: { limit?: number | undefined; after?: number | undefined },
) {
  const { rows, next } = await newestFirst(tx, devices, { index: 'byUser', prefix: [userId], ...page })
  return { registrations: rows.map(showDevice), next: next as number | null }
}

export const devicesOf = (tx: Reader, userId: number): Promise<DeviceRow[]> =>
  tx.find(devices, { index: 'byUser', prefix: [userId], limit: MOST_DEVICES })

/** Whether the user can be asked by a push; one without is asked by mail. */
export async function hasDevice(tx: Reader, userId: number): Promise<boolean> {
  return (await tx.find(devices, { index: 'byUser', prefix: [userId], limit: 1 })).length > 0
}

/** The user's device of that token. */
export async function deviceByToken(tx: Reader, userId: number, token: string): Promise<DeviceRow | undefined> {
  const presented = digest(token)
  return (await devicesOf(tx, userId)).find((device) => sameSecret(device.token_digest, presented))
}

/** The token that a push is sent to, or undefined where it was sealed under another key. */
export const pushToken = (device: DeviceRow, { keys }: Pick<ServiceContext, 'keys'>): Promise<string | undefined> =>
  keys.open(device.token_sealed, sealContext(device.id))

const sealContext = (id: number): string => `devices:${id}:token`

/** A user's record says which platforms they have a device of. */
async function showPlatforms(tx: Writer, userId: number, at: number): Promise<void> {
  const user = (await tx.get(users, userId)) as UserRow
  const own = await devicesOf(tx, userId)
  const has = (platform: Platform) => own.some((device) => device.platform === platform)
  const [is_ios, is_android] = [has('ios'), has('android')]
  if (is_ios === user.is_ios && is_android === user.is_android) return
  tx.put(users, { ...user, is_ios, is_android, updated_at: at })
}

const tell = (tx: Writer, type: string, { id, user_id, platform, name }: DeviceRow, at: number): Promise<void> =>
  recordEvent(tx, {
    owners: [`user:${user_id}`],
    type,
    actor: `user:${user_id}`,
    subject: `device:${id}`,
    data: { platform, name },
    at,
  })

export const showDevice = ({ id, platform, name, created_at }: DeviceRow) => ({
  id,
  platform,
  name,
  created_at: seconds(created_at),
})
