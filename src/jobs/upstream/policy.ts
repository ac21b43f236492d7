import { isAlwaysRefused, isListed, isLoopback, isPublicAddress, type UpstreamList } from '../../base/ip-address.js'
import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'

/** Who decides on addresses that are not refused to everyone. */
export type UpstreamPolicy = Pick<ServiceContext, 'allowUpstream' | 'sandbox'>

/** Names under which clouds offer their metadata, each with all that is below it. */
const metadataNames = [
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'metadata.azure.internal',
  'metadata.tencentyun.com',
  'metadata.platformequinix.com',
  'instance-data',
  'instance-data.ec2.internal',
]

/** What no public name ends in. */
const localNames = ['localhost', 'localdomain', 'local', 'internal', 'home.arpa']

/**
 * The URL of an upstream service, without its fragment. Addresses of cloud metadata, link-local and the like are refused always,
 * in every spelling; of the others `allowUpstream` decides where it is a function. Else a sandbox takes all, or once it is served over
 * HTTP, public hosts and this machine; another service takes public hosts over https. A list in `allowUpstream` adds to these.
 * A name is judged as it stands: what it stands for, only once it is connected to, by `mayConnect`. Throws `upstream_refused`.
 */
export function checkUpstreamUrl(text: string, policy: UpstreamPolicy): URL {
  // The parser drops line breaks and tabs without a word, and trims.
  if (/[\s\p{Cc}]/u.test(text)) throw refused('A URL holds no white space or control characters.')
  if (!URL.canParse(text)) throw refused('This is no absolute URL.')
  const url = new URL(text)
  url.hash = ''
  const fault = plainFault(url) ?? policyFault(url, policy)
  if (fault !== undefined) throw refused(fault)
  return url
}

/** What judges an address that the name of an upstream URL stands for, before it is connected to. */
export function addressRule(policy: UpstreamPolicy, url?: URL): (address: string) => boolean {
  const { allowUpstream, sandbox } = policy
  const list = typeof allowUpstream === 'object' ? allowUpstream : undefined
  const isNamed = url !== undefined && list?.names.has(nameOf(url)) === true
  const takesAll = typeof allowUpstream === 'function' || takesPrivate(policy) || isNamed
  return (address) => {
    if (isAlwaysRefused(address)) return false
    if (takesAll || isPublicAddress(address)) return true
    return (sandbox !== undefined && isLoopback(address)) || (list !== undefined && isListed(address, list))
  }
}

/** A sandbox that is reached by its own process alone calls whatever that process could. */
const takesPrivate = ({ allowUpstream, sandbox }: UpstreamPolicy): boolean =>
  allowUpstream === undefined && sandbox !== undefined && !sandbox.isServed

/** What a header says of the connection is the port's to say: two who read it differently could be told two requests. */
const framing =
  /^(connection|content-length|expect|host|http2-settings|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i

/** Throws `upstream_refused` where a header would be more than one, is of no characters that headers hold, or frames the request. */
export function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw refused('A header has a name that no header can have.')
    if (framing.test(name)) throw refused(`The header ${name} is not the caller's to set.`)
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw refused(`The header ${name} holds a line break or another character that no header can hold.`)
  }
}

const refused = (detail: string) => problem('upstream_refused', { detail })

/** What is wrong with a URL, whoever asks. */
function plainFault(url: URL): string | undefined {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'Its scheme is neither http nor https.'
  if (url.username !== '' || url.password !== '') return 'It holds a user name or a password.'
  const ip = literalOf(url)
  const isMetadata = ip === undefined ? isBelow(nameOf(url), metadataNames) : isAlwaysRefused(ip)
  return isMetadata ? 'Its host is one that no service calls.' : undefined
}

function policyFault(url: URL, policy: UpstreamPolicy): string | undefined {
  const { allowUpstream, sandbox } = policy
  if (typeof allowUpstream === 'function')
    return allowUpstream(new URL(url)) ? undefined : 'This service is set not to call it.'
  if (takesPrivate(policy) || (allowUpstream && isListedHost(url, allowUpstream))) return undefined
  if (sandbox) {
    if (isPublicHost(url) || isLocalHost(url)) return undefined
    return `Its host is private. To allow it, start the sandbox with --allow-upstream ${url.hostname}.`
  }
  if (url.protocol !== 'https:') return 'This service calls https alone.'
  return isPublicHost(url) ? undefined : 'Its host is not a public one.'
}

function isPublicHost(url: URL): boolean {
  const ip = literalOf(url)
  const name = nameOf(url)
  return ip === undefined ? name.includes('.') && !isBelow(name, localNames) : isPublicAddress(ip)
}

function isListedHost(url: URL, list: UpstreamList): boolean {
  const ip = literalOf(url)
  return ip === undefined ? list.names.has(nameOf(url)) : isListed(ip, list)
}

function isLocalHost(url: URL): boolean {
  const ip = literalOf(url)
  return ip === undefined ? isBelow(nameOf(url), ['localhost']) : isLoopback(ip)
}

/** The IP address that is the host itself, in whatever spelling it came: the URL parser leaves one of each. */
function literalOf({ hostname }: URL): string | undefined {
  if (hostname.startsWith('[')) return hostname.slice(1, -1)
  return /^[\d.]+$/.test(hostname) ? hostname : undefined
}

/** In lower case by the URL parser; a dot at the end says only that the name is whole. */
const nameOf = ({ hostname }: URL): string => hostname.replace(/\.+$/, '')

const isBelow = (name: string, parents: readonly string[]): boolean =>
  parents.some((parent) => name === parent || name.endsWith(`.${parent}`))
