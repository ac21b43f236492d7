import type { ProfiledCall, ProxyProfile } from './profile.js'

/** The call of a profile that a request is, with what the profile says of all calls. */
export interface MatchedCall {
  readonly operation: string
  /** Without what may say who pays for what. */
  readonly path: string
  readonly call: ProfiledCall | undefined
  /** The named parts of the path. */
  readonly parts: Readonly<Record<string, string>>
}

/** Finds what a request is. `path`: below the address of the service, without its query. */
export function matchCall({ calls, ...all }: ProxyProfile, method: string, path: string): MatchedCall {
  const shown = shownPath(path)
  for (const [name, call] of Object.entries(calls)) {
    const parts = partsOf(call.request, method, path)
    if (parts) return { operation: name, path: shown, call: { ...sharedBy(all), ...call }, parts }
  }
  return { operation: `${method} ${shown}`, path: shown, call: undefined, parts: {} }
}

const sharedBy = ({ keys, item, payer, amount, charged, payment, outcome }: Omit<ProxyProfile, 'calls'>) => ({
  ...{ keys, item, payer, amount, charged, payment, outcome },
})

function partsOf(request: string, method: string, path: string): Record<string, string> | undefined {
  const [asked, pattern = ''] = request.split(' ')
  if (asked !== method) return undefined
  const isMounted = pattern.startsWith('*')
  const wanted = pattern.replace(/^\*?\//, '').split('/')
  const given = path.replace(/^\//, '').replace(/\/$/, '').split('/')
  if (isMounted ? given.length < wanted.length : given.length !== wanted.length) return undefined
  const parts: Record<string, string> = {}
  const compared = given.slice(given.length - wanted.length)
  for (const [at, part] of wanted.entries()) {
    const value = compared[at] ?? ''
    if (part.startsWith(':')) parts[part.slice(1)] = plainPart(value)
    else if (part !== value) return undefined
  }
  return parts
}

function plainPart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Words of programmers: `payment_intents`, `paymentIntents`, `v1`. */
const WORD = /^(?:v\d+|[a-z][a-z_.-]{0,30}|[a-z]{2,}(?:[A-Z][a-z]{2,}){1,4})?$/

/** A path whose parts are words. What has digits, capitals or other characters, as ids, addresses and keys do, becomes `:id`. */
const shownPath = (path: string): string =>
  path
    .split('/')
    .map((part) => (WORD.test(part) ? part : ':id'))
    .join('/')
