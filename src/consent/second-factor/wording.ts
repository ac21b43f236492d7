import { revealInvisibleLine } from '../../base/text/invisible-characters.js'
import { quoted, shownAddress, unlinked, withoutLinks } from '../../base/text/quotation.js'
import type { ServiceContext } from '../../http/context.js'
import { fieldRefused } from '../../http/fields/field.js'

/** Exactly what the user sees and approves: payee, amount, digital quantity and so on. */
export type Detail = Readonly<Record<string, unknown>>

/** Later payments that a user approves: each to this payee, in this digital quantity, and up to this amount. */
export interface StandingTerms {
  readonly payee_twin_id: number
  readonly dq: string
  /** In smallest units. */
  readonly amount: string
}

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

interface DescribedRequest {
  readonly id: number
  readonly user_id: number
  readonly action: string
  readonly detail: Detail
  readonly by_caller?: true
}

/** The action in text for people. An action that a caller named is quoted. */
export const actionTitle = ({ action, by_caller }: Pick<DescribedRequest, 'action' | 'by_caller'>): string =>
  by_caller ? quoted(withoutLinks(titleFromName(action))) : (titles.get(action) ?? titleFromName(action))

/** The detail in text for people: everything that they approve, and nothing else. */
export const detailLines = (detail: Detail): readonly (readonly [label: string, value: string])[] =>
  Object.entries(detail).map(([name, value]) => [labelOf(name), shownValue(value)] as const)

const MAX_QUOTED = 200

/** The detail that a caller wrote, quoted. farthing cannot know whether it is true. */
export const callerText = (detail: Detail): string =>
  quoted(withoutLinks(linesOf(detail).replaceAll('\n', '; ')), MAX_QUOTED - 1)

const linesOf = (detail: Detail): string =>
  detailLines(detail)
    .map(([label, value]) => `${label}: ${value}`)
    .join('\n')

const labels = new Map([
  ['app_host', 'Host of the app'],
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

/** A field name in text for people: `billing_email` becomes "Billing email". */
export const labelOf = (name: string): string => labels.get(name) ?? titleFromName(name)

const titleFromName = (name: string): string => {
  const text = revealInvisibleLine(name).replace(/[_.]+/g, ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Keeps a value on one line, so that it cannot pass for a line of ours. */
const shownValue = (value: unknown): string => {
  if (typeof value !== 'string') return revealInvisibleLine(JSON.stringify(value))
  return /^[^\s@]+@\S+$/.test(value) ? shownAddress(value) : revealInvisibleLine(value)
}

const MAX_CHARACTERS = 2048

/** Checks that a detail is short enough for people to read. Throws `field_invalid`. */
export function checkDetail(detail: Detail): void {
  if (JSON.stringify(detail).length <= MAX_CHARACTERS) return
  throw fieldRefused('detail', `must be at most ${MAX_CHARACTERS} characters of JSON`)
}

const subjectOf = (request: DescribedRequest): string => `Approve or reject: ${actionTitle(request)}`
export const CALLER_WARNING = 'A program that acts for you sent this request, and wrote this text:'

export const requestPush = (request: DescribedRequest) => ({
  subject: subjectOf(request),
  text: request.by_caller ? `${CALLER_WARNING}\n${callerText(request.detail)}` : linesOf(request.detail),
  data: { authentication_request_id: String(request.id), user_id: String(request.user_id), action: request.action },
})

/** Fields with hostnames or email addresses, which farthing has checked. */
const PARTIES = new Set(['payee', 'payees', 'given_to'])

/** Other fields may hold text of strangers, which must not become a link in a mail of ours. */
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
    'This request needs your answer:',
    [actionTitle(request), ...asked].filter(Boolean).join('\n'),
    `Approve or reject it here. Use a different browser or device from the one that you started it on:\n${link}`,
    'If you did not start this, reject it.',
  ].join('\n\n')
  return { subject: subjectOf(request), text }
}
