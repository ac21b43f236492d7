import { type DeviceRow, devices } from '../../../consent/devices/device.js'
import { phones } from '../../../consent/second-factor/phone.js'
import {
  type AuthenticationRequestRow,
  authenticationRequests,
  findRequest,
  requestStatus,
} from '../../../consent/second-factor/request.js'
import type { Explainers } from '../facts/explainer.js'
import type { Fix } from '../facts/explanation.js'
import { userBehind } from '../facts/price.js'
import {
  advanced,
  deviceToken,
  first,
  firstBoth,
  later,
  type RefusedRequest,
  sentNumber,
} from '../facts/refused-request.js'
import { endText, listText, ownerText, plural, timeText } from '../facts/words.js'

/** What a person must confirm on a device or behind a mailed link. */
export const secondFactorExplainers = {
  rejected: refusedByUser,
  payment_denied: refusedByUser,
  approval_timeout: refusedByUser,

  async self_approval(asked) {
    const request = await requestIn(asked)
    return {
      sentences: [
        `${aboutRequest(request, asked.at)} The session that asked sent the answer.`,
        'Answer from a device, from another session of the user, or in another browser.',
      ],
      facts: requestFacts(request, asked.at),
      fix: request && answerOnPhone(asked, request),
    }
  },

  async device_refused(asked) {
    const request = await requestIn(asked)
    const asking = request?.device_ids ?? []
    return {
      sentences: [
        asking.length === 0
          ? `${aboutRequest(request, asked.at)} It went out by mail, so no device can answer it.`
          : `${aboutRequest(request, asked.at)} Only ${listText(asking.map((id) => `device ${id}`))} can answer it, with the token of its registration as X-Device-Token.`,
      ],
      facts: {
        ...requestFacts(request, asked.at),
        devices: asking,
        sent_token: 'x-device-token' in asked.entry.request.headers,
      },
      fix: request && answerOnPhone(asked, request),
    }
  },

  async too_many_devices(asked) {
    const user = await userBehind(asked)
    const found = await devicesOf(asked, user)
    const [oldest] = found
    return {
      sentences: [
        `${user === undefined ? 'The user' : await ownerText(asked.tx, `user:${user}`)} has ${plural(found.length, 'device')}, and 20 are possible.`,
        ...(oldest ? [`The oldest is device ${oldest.id}, registered at ${timeText(oldest.created_at)}.`] : []),
      ],
      facts: { user: user ?? null, devices: found.length, most: 20, oldest: oldest?.id ?? null },
      fix:
        oldest &&
        first(asked, 'deleteRegistration', {
          method: 'DELETE',
          path: `/v4/notifications/registrations/${oldest.id}`,
          as: `user:${user}`,
          headers: deviceToken(asked),
        }),
    }
  },

  async link_early(asked) {
    const device = await asked.tx.get(devices, Number(asked.params.id))
    const from = device?.change?.link_from ?? asked.at
    return {
      sentences: [
        `The link to ${device?.change?.kind ?? 'change'} device ${asked.params.id} confirms from ${timeText(from)} on. Before, it can only reject.`,
      ],
      facts: { device: device?.id ?? null, change: device?.change?.kind ?? null, link_from: timeText(from) },
      fix: later(asked, (from - asked.at) / 1000),
    }
  },

  async link_expired(asked) {
    const request = await requestIn(asked)
    const device = request ? undefined : await asked.tx.get(devices, Number(asked.params.id))
    const until = device?.change?.link_until ?? request?.expires_at
    return {
      sentences: [
        request
          ? aboutRequest(request, asked.at)
          : `The link of ${asked.entry.path.split('?')[0]} leads nowhere any more.`,
        ...(until === undefined
          ? ['It was used, or what it was about has ended.']
          : [`The link ${endText(until, asked.at)}.`]),
        'Start again where the link came from.',
      ],
      facts: {
        ...requestFacts(request, asked.at),
        device: device?.id ?? null,
        until: until === undefined ? null : timeText(until),
      },
    }
  },

  async authorization_answered(asked) {
    const request = await requestIn(asked)
    return {
      sentences: [aboutRequest(request, asked.at), 'It stays as it is. A new payment asks the user again.'],
      facts: requestFacts(request, asked.at),
    }
  },

  async authorization_expired(asked) {
    const request = await requestIn(asked)
    return {
      sentences: [
        aboutRequest(request, asked.at),
        'The payment that waited has given up. A new payment asks the user again.',
      ],
      facts: requestFacts(request, asked.at),
    }
  },
} satisfies Explainers

/** The user said no, or nothing. */
async function refusedByUser(asked: RefusedRequest) {
  const request = await requestIn(asked)
  const user = request?.user_id ?? (await userBehind(asked))
  const phone = user === undefined ? undefined : await asked.tx.get(phones, user)
  const asking = await devicesOf(asked, user)
  const status = request && requestStatus(request, asked.at)
  return {
    sentences: [
      aboutRequest(request, asked.at),
      asking.length === 0
        ? 'The user has no device, so the question went to a mailed link.'
        : `The user has ${plural(asking.length, 'device')}, and the phone that the sandbox plays is set to \`${phone?.mode ?? 'manual'}\`.`,
      asked.entry.status === 408
        ? 'Set the phone to approve, then repeat the request after two seconds. Browsers repeat a 408 by themselves, and nobody is asked for that.'
        : 'Set the phone to approve, then repeat the request.',
    ],
    facts: {
      ...requestFacts(request, asked.at),
      user: user ?? null,
      status: status ?? null,
      devices: asking.length,
      phone: phone?.mode ?? 'manual',
    },
    fix: user === undefined ? undefined : approving(asked, user),
  }
}

/** Lets the phone approve. A repetition within two seconds of a 408 counts as that of the browser, which is not asked again. */
function approving(asked: RefusedRequest, user: number): Fix {
  const phone = { method: 'POST', path: `/_sandbox/devices/${user}`, body: { mode: 'approve' } }
  return asked.entry.status === 408
    ? firstBoth(asked, 'setPhone', [phone, advanced(2)])
    : first(asked, 'setPhone', phone)
}

/** The authentication request that a call names, or else the last one of its user. */
async function requestIn(asked: RefusedRequest): Promise<AuthenticationRequestRow | undefined> {
  const isInPath = asked.operation?.path.includes('/authentication-requests/:id') ?? false
  const id = isInPath ? Number(asked.params.id) : sentNumber(asked, 'authorizationId')
  if (id !== undefined) return findRequest(asked.tx, id)
  const user = await userBehind(asked)
  if (user === undefined) return undefined
  const found = await asked.tx.find(authenticationRequests, { index: 'byUser', prefix: [user], limit: 100 })
  const [last] = found.toSorted((a, b) => b.id - a.id)
  return last && findRequest(asked.tx, last.id)
}

async function devicesOf({ tx }: RefusedRequest, user: number | undefined): Promise<DeviceRow[]> {
  return user === undefined ? [] : tx.find(devices, { index: 'byUser', prefix: [user], limit: 20 })
}

function aboutRequest(request: AuthenticationRequestRow | undefined, at: number): string {
  if (!request) return 'The user was asked to confirm this.'
  const { id, action, user_id, created_at, answered_at, expires_at } = request
  const status = requestStatus(request, Math.max(at, answered_at ?? 0))
  const how =
    answered_at === null ? endText(expires_at, Math.max(at, created_at)) : `was ${status} at ${timeText(answered_at)}`
  return `The authentication request ${id} asked user:${user_id} to confirm \`${action}\` at ${timeText(created_at)} and ${how}.`
}

const requestFacts = (request: AuthenticationRequestRow | undefined, at: number) => ({
  request: request?.id ?? null,
  action: request?.action ?? null,
  request_status: request ? requestStatus(request, at) : null,
  asked_at: request ? timeText(request.created_at) : null,
  answered_at: request?.answered_at == null ? null : timeText(request.answered_at),
  expires_at: request ? timeText(request.expires_at) : null,
})

const answerOnPhone = (asked: RefusedRequest, { id, user_id }: AuthenticationRequestRow): Fix => {
  const verb = asked.entry.path.includes('/reject') || asked.body.answer === 'reject' ? 'reject' : 'approve'
  return {
    operation_id: `${verb}OnPhone`,
    example: { method: 'POST', path: `/_sandbox/devices/${user_id}/${verb}`, body: { id } },
    next: null,
  }
}
