import { isAlwaysRefused, isListed, isLoopback, isPublicAddress, type UpstreamList } from '../../base/ip-address.js'
import { problem } from '../../base/problem.js'
import { withoutEnd } from '../../base/text/ends.js'
import { parsedUrl } from '../../base/text/foreign-url.js'
import type { ServiceContext } from '../../http/context.js'

/** The options that decide which upstream services may be called. */
export type UpstreamPolicy = Pick<ServiceContext, 'allowUpstream' | 'sandbox'>

/** Names of cloud metadata services. Their subdomains count too. */
const metadataNames = [
  ...['metadata', 'metadata.google.internal', 'metadata.goog', 'metadata.azure.internal'],
  ...['metadata.tencentyun.com', 'metadata.platformequinix.com', 'instance-data', 'instance-data.ec2.internal'],
]

/** Endings of names that are not public. */
const localNames = ['localhost', 'localdomain', 'local', 'internal', 'home.arpa']

/**
 * Checks the URL of an upstream service, and returns it without its fragment. Always refuses addresses of cloud
 * metadata, link-local and similar ones, in every spelling. For other URLs, `allowUpstream` decides if it is a
 * function. Otherwise a sandbox allows everything, or only public hosts and this machine once it is served over HTTP.
 * Other services allow public hosts over https. A list in `allowUpstream` adds to these. `mayConnect` checks the
 * addresses of a name later, before the port connects. Throws `upstream_refused`.
 */
export function checkUpstreamUrl(text: string, policy: UpstreamPolicy): URL {
  // The URL parser silently removes line breaks, tabs and surrounding spaces.
  if (/[\s\p{Cc}]/u.test(text)) throw upstreamRefused('It must not contain white space or control characters.')
  const url = parsedUrl(text)
  if (!url) throw upstreamRefused('It must be an absolute URL.')
  url.hash = ''
  const fault = plainFault(url) ?? policyFault(url, policy)
  if (fault !== undefined) throw upstreamRefused(fault)
  return url
}

/** Returns the check of the addresses of an upstream URL's host, which runs before the port connects. */
export function addressRule(policy: UpstreamPolicy, url?: URL): (address: string) => boolean {
  const { allowUpstream, sandbox } = policy
  const list = typeof allowUpstream === 'object' ? allowUpstream : undefined
  const isNamed = url !== undefined && list?.names.has(hostnameWithoutDots(url)) === true
  const takesAll = typeof allowUpstream === 'function' || takesPrivate(policy) || isNamed
  return (address) => {
    if (isAlwaysRefused(address)) return false
    if (takesAll || isPublicAddress(address)) return true
    return (sandbox !== undefined && isLoopback(address)) || (list !== undefined && isListed(address, list))
  }
}

/** A sandbox that only its own process can reach may call whatever that process can call. */
const takesPrivate = ({ allowUpstream, sandbox }: UpstreamPolicy): boolean =>
  allowUpstream === undefined && sandbox !== undefined && !sandbox.isServed

/** Only the port sets headers about the connection. Wrong ones would allow request smuggling. */
const framing =
  /^(connection|content-length|expect|host|http2-settings|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i

/**
 * Checks the headers of an upstream call. Throws `upstream_refused` for invalid characters, line breaks, and headers
 * about the connection.
 */
export function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw upstreamRefused('The name of a header contains invalid characters.')
    if (framing.test(name))
      throw upstreamRefused(`The header ${name} cannot be set, because it describes the connection.`)
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw upstreamRefused(`The value of the header ${name} contains a line break or another invalid character.`)
  }
}

const upstreamRefused = (detail: string) => problem('upstream_refused', { detail })

/** What is wrong with a URL under every policy. */
function plainFault(url: URL): string | undefined {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'Its scheme must be http or https.'
  if (url.username !== '' || url.password !== '') return 'It must not contain a user name or a password.'
  return testHost(url, isAlwaysRefused, (name) => isBelow(name, metadataNames))
    ? 'Its host is always refused, such as a cloud metadata service or a link-local address.'
    : undefined
}

function policyFault(url: URL, policy: UpstreamPolicy): string | undefined {
  const { allowUpstream, sandbox } = policy
  if (typeof allowUpstream === 'function')
    return allowUpstream(new URL(url)) ? undefined : "This service's configuration does not allow it."
  if (takesPrivate(policy) || (allowUpstream && isListedHost(url, allowUpstream))) return undefined
  if (sandbox) {
    if (isPublicHost(url) || isLocalHost(url)) return undefined
    return `Its host is private. To allow it, start the sandbox with --allow-upstream ${url.hostname}.`
  }
  if (url.protocol !== 'https:') return 'This service calls only https URLs.'
  return isPublicHost(url) ? undefined : 'Its host must be public.'
}

type Test = (text: string) => boolean

/** Tests the host of a URL: as an IP address if it is one, else as a name. */
function testHost(url: URL, isAddress: Test, isName: Test): boolean {
  const ip = literalOf(url)
  return ip === undefined ? isName(hostnameWithoutDots(url)) : isAddress(ip)
}

const isPublicHost = (url: URL): boolean =>
  testHost(url, isPublicAddress, (name) => name.includes('.') && !isBelow(name, localNames))
const isListedHost = (url: URL, list: UpstreamList): boolean =>
  testHost(
    url,
    (ip) => isListed(ip, list),
    (name) => list.names.has(name),
  )
const isLocalHost = (url: URL): boolean => testHost(url, isLoopback, (name) => isBelow(name, ['localhost']))

/** The host, if it is an IP address. The URL parser has already normalized its spelling. */
function literalOf({ hostname }: URL): string | undefined {
  if (hostname.startsWith('[')) return hostname.slice(1, -1)
  return /^[\d.]+$/.test(hostname) ? hostname : undefined
}

/** The host without trailing dots. The URL parser has already made it lower case. */
const hostnameWithoutDots = ({ hostname }: URL): string => withoutEnd(hostname, '.')

const isBelow = (name: string, parents: readonly string[]): boolean =>
  parents.some((parent) => name === parent || name.endsWith(`.${parent}`))

/** A value as text in an upstream URL's query: strings unchanged, everything else as JSON. */
export const queryText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
