import type { Answer, Call, CallOptions } from '../api.js'

/** Steps of asking for a second factor and giving it, through the public interface. */

export const DETAIL = { payee: 'shop.example.test', amount: 2.5, dq: 'USD' }

export const ask = (call: Call, caller: CallOptions, body: object = {}): Promise<Answer> =>
  call('POST', '/v4/authentication-requests', { ...caller, body: { action: 'transfer', detail: DETAIL, ...body } })

export const poll = (call: Call, caller: CallOptions, id: number): Promise<Answer> =>
  call('GET', `/v4/authentication-requests/${id}`, caller)

/** Registers a device and returns the id of the registration. With `from`, the token of another device of the user, it is active at once. */
export async function registerDevice(
  call: Call,
  caller: CallOptions,
  token = 'device-token',
  { from }: { from?: string } = {},
): Promise<number> {
  const headers = { ...caller.headers, ...(from !== undefined && { 'x-device-token': from }) }
  const body = { platform: 'ios', token }
  const answer = await call('POST', '/v4/notifications/registrations', { ...caller, headers, body })
  return answer.body.id
}

export const answerFromDevice = (
  call: Call,
  caller: CallOptions,
  { id, verb = 'approve', device = 'device-token' }: { id: number; verb?: 'approve' | 'reject'; device?: string },
): Promise<Answer> =>
  call('POST', `/v4/authentication-requests/${id}/${verb}`, {
    ...caller,
    headers: { ...caller.headers, 'x-device-token': device },
  })

export interface Link {
  /** Below the service's address. */
  readonly path: string
  readonly token: string
}

/** The link that answers the last mail to an address. The mail may contain other links in its text. */
export async function mailedLink(call: Call, email: string): Promise<Link> {
  const { body } = await call('GET', `/_sandbox/outbox?to=${encodeURIComponent(email)}&kind=mail&limit=1`)
  const links = body.messages[0].links as string[]
  const address = links.find((link) => link.includes('/v4/authentication-requests/')) as string
  const path = address.slice(address.indexOf('/v4/'))
  return { path, token: new URLSearchParams(path.split('?')[1]).get('token') as string }
}

export const answerLink = (call: Call, { path, token }: Link, answer = 'approve', options: CallOptions = {}) =>
  call('POST', path, { ...options, form: { token, answer } })

/** What the log of a caller says of second factors, oldest first. */
export async function secondFactorEvents(call: Call, token: string): Promise<[type: string, by: string | undefined][]> {
  const { body } = await call('GET', '/v4/events?limit=100', { token })
  return body.events
    .filter(({ type }: { type: string }) => /^second_factor\.(requested|approved|rejected|expired)$/.test(type))
    .map(({ type, data }: { type: string; data: { by?: string } }) => [type.slice('second_factor.'.length), data.by])
    .reverse()
}
