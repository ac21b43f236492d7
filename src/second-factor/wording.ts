import type { ServiceContext } from '../context.js'
import { problem } from '../problem.js'
import type { Detail } from './detail.js'

const titles = new Map([
  ['sign_in', 'Sign-in'],
  ['paywall', 'Payment'],
  ['transfer', 'Transfer'],
  ['delegate', 'Permission to spend'],
  ['approval', "Agent's request"],
  ['account_choice', 'Choice of a business account'],
  ['agent_settings', 'Payments without approval'],
])

/** What people are told the action is. */
export const actionTitle = (action: string): string => titles.get(action) ?? words(action)

/** The detail as people read it: everything that is approved, and nothing else. */
export const detailLines = (detail: Detail): readonly (readonly [label: string, value: string])[] =>
  Object.entries(detail).map(([name, value]) => [labelOf(name), oneLine(value)] as const)

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
export const labelOf = (name: string): string => labels.get(name) ?? words(name)

const words = (name: string): string => {
  const text = oneLine(name).replace(/[_.]+/g, ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** No value can look like a line of its own. */
const oneLine = (value: unknown): string =>
  (typeof value === 'string' ? value : JSON.stringify(value)).replace(/\s+/g, ' ').trim()

const MOST_CHARACTERS = 2048

/** What people are asked about must be short enough to be read. Throws `field_invalid`. */
export function checkDetail(detail: Detail): void {
  if (JSON.stringify(detail).length <= MOST_CHARACTERS) return
  throw problem('field_invalid', {
    detail: `"detail" must be at most ${MOST_CHARACTERS} characters of JSON.`,
    fields: { field: 'detail' },
  })
}

/** Of an authentication request, what is told of it. */
interface Asking {
  readonly id: number
  readonly user_id: number
  readonly action: string
  readonly detail: Detail
}

const subjectOf = ({ action }: Asking): string => `Approve or reject: ${actionTitle(action)}`

const linesOf = ({ detail }: Asking): string =>
  detailLines(detail)
    .map(([label, value]) => `${label}: ${value}`)
    .join('\n')

export const askingPush = (request: Asking) => ({
  subject: subjectOf(request),
  text: linesOf(request),
  data: { authentication_request_id: String(request.id), user_id: String(request.user_id), action: request.action },
})

export function askingMail(request: Asking, token: string, { baseUrl }: Pick<ServiceContext, 'baseUrl'>) {
  const link = `${baseUrl}/v4/authentication-requests/${request.id}/answer?token=${token}`
  const text = [
    'This waits for your answer:',
    [actionTitle(request.action), linesOf(request)].filter(Boolean).join('\n'),
    `Approve or reject it here, once, in another browser or on another device than the one that asked:\n${link}`,
    'If you did not start this, reject it.',
  ].join('\n\n')
  return { subject: subjectOf(request), text }
}
