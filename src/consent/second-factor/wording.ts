import { problem } from '../../base/problem.js'
import { revealInvisibleLine } from '../../base/text/invisible-characters.js'
import { quoted, shownAddress, unlinked, withoutLinks } from '../../base/text/quotation.js'
import type { ServiceContext } from '../../http/context.js'
import type { Detail } from './detail.js'

const titles = new Map([
  ['sign_in', 'Sign-in'],
  ['paywall', 'Payment'],
  ['transfer', 'Transfer'],
  ['delegate', 'Permission to spend'],
  ['approval', "Agent's request"],
  ['account_choice', 'Choice of a business account'],
  ['agent_settings', 'Payments without approval'],
  ['connect_app', 'Connection of an app'],
  ['add_device', 'A new device'],
  ['remove_device', 'Removal of a device'],
])

/** Of an authentication request, what is told of it. */
interface DescribedRequest {
  readonly id: number
  readonly user_id: number
  readonly action: string
  readonly detail: Detail
  readonly by_caller?: true
}

/** What people are told the action is. */
export const actionTitle = ({ action, by_caller }: Pick<DescribedRequest, 'action' | 'by_caller'>): string =>
  by_caller ? quoted(withoutLinks(titleFromName(action))) : (titles.get(action) ?? titleFromName(action))

/** The detail as people read it: everything that is approved, and nothing else. */
export const detailLines = (detail: Detail): readonly (readonly [label: string, value: string])[] =>
  Object.entries(detail).map(([name, value]) => [labelOf(name), shownValue(value)] as const)

const MAX_QUOTED = 200

/** The detail of a request that a caller made: the service knows nothing of what is behind it. */
export const callerText = (detail: Detail): string =>
  quoted(withoutLinks(linesOf(detail).replaceAll('\n', '; ')), MAX_QUOTED - 1)

const linesOf = (detail: Detail): string =>
  detailLines(detail)
    .map(([label, value]) => `${label}: ${value}`)
    .join('\n')

const labels = new Map([
  ['dq', 'Digital quantity'],
  ['catalog_item_id', 'Item'],
  ['cart_id', 'Cart'],
  ['descriptor', 'Receipt line'],
  ['service_method', 'Method'],
  ['external_endpoint', 'Endpoint'],
  ['service_schema', 'Inputs'],
  ['serviceUrl', 'Service'],
  ['serviceMethod', 'Method'],
  ['additionalParams', 'Sent with it'],
])

/** `billing_email` as people read it. */
export const labelOf = (name: string): string => labels.get(name) ?? titleFromName(name)

const titleFromName = (name: string): string => {
  const text = revealInvisibleLine(name).replace(/[_.]+/g, ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** No value can look like a line of its own. */
const shownValue = (value: unknown): string => {
  if (typeof value !== 'string') return revealInvisibleLine(JSON.stringify(value))
  return /^\S+@\S+$/.test(value) ? shownAddress(value) : revealInvisibleLine(value)
}

const MAX_CHARACTERS = 2048

/** What people are asked about must be short enough to be read. Throws `field_invalid`. */
export function checkDetail(detail: Detail): void {
  if (JSON.stringify(detail).length <= MAX_CHARACTERS) return
  throw problem('field_invalid', {
    detail: `"detail" must be at most ${MAX_CHARACTERS} characters of JSON.`,
    fields: { field: 'detail' },
  })
}

const subjectOf = (request: DescribedRequest): string => `Approve or reject: ${actionTitle(request)}`

/** Stands before the words of a caller. */
export const CALLER_WARNING = 'Something that acts for you asks this. The words are its own:'

export const requestPush = (request: DescribedRequest) => ({
  subject: subjectOf(request),
  text: request.by_caller ? `${CALLER_WARNING}\n${callerText(request.detail)}` : linesOf(request.detail),
  data: { authentication_request_id: String(request.id), user_id: String(request.user_id), action: request.action },
})

/** Wallets, whose hostnames the service gives, and people. */
const PARTIES = new Set(['payee', 'payees', 'given_to'])

/** What others wrote of it is no link to click in a mail of ours. */
const mailedDetail = (detail: Detail): Detail =>
  Object.fromEntries(
    Object.entries(detail).map(([name, value]) =>
      PARTIES.has(name) ? [name, value] : [name, unlinked(shownValue(value))],
    ),
  )

export function requestMail(request: DescribedRequest, token: string, { baseUrl }: Pick<ServiceContext, 'baseUrl'>) {
  const link = `${baseUrl}/v4/authentication-requests/${request.id}/answer?token=${token}`
  const { by_caller, detail } = request
  const asked = by_caller ? [CALLER_WARNING, callerText(detail)] : [linesOf(mailedDetail(detail))]
  const text = [
    'This waits for your answer:',
    [actionTitle(request), ...asked].filter(Boolean).join('\n'),
    `Approve or reject it here, once, in another browser or on another device than the one that asked:\n${link}`,
    'If you did not start this, reject it.',
  ].join('\n\n')
  return { subject: subjectOf(request), text }
}
