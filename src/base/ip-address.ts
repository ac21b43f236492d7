import { parsedUrl } from './text/foreign-url.js'

/** An IPv4 or IPv6 address, as the number that it is. */
interface Address {
  readonly bits: 32 | 128
  readonly value: bigint
}

/** All addresses that begin with the same `length` bits. */
interface Range extends Address {
  readonly length: number
}

/** Cloud metadata services, which hand out the machine's credentials. */
const metadata = [
  '100.100.100.200/32', // Alibaba
  '168.63.129.16/32', // Azure
  '192.0.0.192/32', // Oracle
  'fd00:ec2::/32', // Amazon
  'fd20:ce::254/128', // Google
]

const alwaysRefused = [
  ...metadata,
  '0.0.0.0/8', // unspecified
  '169.254.0.0/16', // link-local, and most clouds' metadata
  '224.0.0.0/4', // multicast
  '255.255.255.255/32', // broadcast
  '::/128', // unspecified
  'fe80::/10', // link-local
  'ff00::/8', // multicast
  '2001::/32', // Teredo: relayed by servers that the address does not name
  '64:ff9b:1::/48', // translated to IPv4 by rules that the address does not show
].map(rangeOf)

/** IPv4 ranges that are not globally reachable, from the registry of special-purpose addresses (RFC 6890). */
const notPublic4 = [
  '10.0.0.0/8',
  '100.64.0.0/10', // shared by a carrier's customers
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24', // documentation
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '240.0.0.0/4', // reserved
].map(rangeOf)

/** The IPv6 range for public use, and the parts of it that are not public. */
const public6 = rangeOf('2000::/3')
const notPublic6 = ['2001::/23', '2001:db8::/32', '3fff::/20'].map(rangeOf)

/** IPv6 ranges that embed an IPv4 address, and how many bits follow it. */
const ipv4Embeddings: readonly (readonly [Range, bigint])[] = [
  [rangeOf('::ffff:0:0/96'), 0n], // mapped
  [rangeOf('::/96'), 0n], // compatible
  [rangeOf('::ffff:0:0:0/96'), 0n], // translated (RFC 2765)
  [rangeOf('64:ff9b::/96'), 0n], // NAT64 (RFC 6052)
  [rangeOf('2002::/16'), 80n], // 6to4
]

const loopback = ['127.0.0.0/8', '::ffff:127.0.0.0/104', '::1/128'].map(rangeOf)
const LOOPBACK_6 = 1n

/** Whether every service refuses an address: metadata, link-local, unspecified, multicast, broadcast, or no address at all. */
export function isAlwaysRefused(ip: string): boolean {
  const address = parse(ip)
  return !address || isRefused(address)
}

/** The network whose addresses one caller may have: an IPv4 address itself, and 64 bits of an IPv6 address. */
export function networkOf(ip: string): string {
  const address = ip.includes(':') ? parse(ip) : undefined
  return address?.bits === 128 ? (address.value >> 64n).toString(16) : ip
}

/** Whether an address is public: not loopback, private, shared, reserved or for documentation. */
export function isPublicAddress(ip: string): boolean {
  const address = parse(ip)
  if (!address || isRefused(address)) return false
  const meant = embeddedIpv4(address)
  return meant.bits === 32 ? !isIn(meant, notPublic4) : isIn(meant, [public6]) && !isIn(meant, notPublic6)
}

/** Whether an address is a loopback address. An IPv6 address that a translator sends elsewhere is not. */
export function isLoopback(ip: string): boolean {
  const address = parse(ip)
  return address !== undefined && isIn(address, loopback)
}

/** Hosts and addresses that upstream calls may reach in addition to the default. */
export interface UpstreamList {
  /** In lower case, without a dot at the end. */
  readonly names: ReadonlySet<string>
  readonly ranges: readonly Range[]
}

/** Parses host names, addresses and CIDR ranges. Returns the first text that is none of these as `wrong`. */
export function upstreamList(texts: readonly string[]): UpstreamList | { readonly wrong: string } {
  const names = new Set<string>()
  const ranges: Range[] = []
  for (const text of texts) {
    const plain = text.trim().toLowerCase()
    const range = listedRange(plain)
    if (range) ranges.push(range)
    else if (/^(?:[\w-]+\.)*(?!\d+\.?$)[\w-]+\.?$/.test(plain)) names.add(plain.replace(/\.$/, ''))
    else return { wrong: text }
  }
  return { names, ranges }
}

/** Completes "must be …" or "must hold …". */
export const UPSTREAM_EXPECTED = 'a host name, an address or a CIDR range such as 10.0.0.0/8'

function listedRange(text: string): Range | undefined {
  const [, ip = '', length] = /^\[?([\da-f:.]+)\]?(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const address = parse(ip)
  if (!address) return undefined
  const bits = length === undefined ? address.bits : Number(length)
  return bits <= address.bits ? { ...address, length: bits } : undefined
}

/** Whether an address, or the IPv4 address that it embeds, is in a range of the list. */
export function isListed(ip: string, { ranges }: UpstreamList): boolean {
  const address = parse(ip)
  return address !== undefined && (isIn(address, ranges) || isIn(embeddedIpv4(address), ranges))
}

function isRefused(address: Address): boolean {
  return isIn(address, alwaysRefused) || isIn(embeddedIpv4(address), alwaysRefused)
}

function isIn(address: Address, ranges: readonly Range[]): boolean {
  return ranges.some(({ bits, value, length }) => {
    const rest = BigInt(bits - length)
    return address.bits === bits && address.value >> rest === value >> rest
  })
}

/** The IPv4 address that an IPv6 address embeds. Default: the address itself. */
function embeddedIpv4(address: Address): Address {
  if (address.bits === 32 || address.value === LOOPBACK_6) return address
  const [, after] = ipv4Embeddings.find(([range]) => isIn(address, [range])) ?? []
  return after === undefined ? address : { bits: 32, value: (address.value >> after) & 0xffff_ffffn }
}

function rangeOf(text: string): Range {
  const [ip = '', length] = text.split('/')
  const address = parse(ip)
  if (!address) throw new TypeError(`${text} is not a CIDR range`)
  return { ...address, length: Number(length) }
}

/** Parses IPv4 as four decimal numbers, and IPv6 in any spelling, with or without a zone. */
function parse(ip: string): Address | undefined {
  if (!ip.includes(':')) return parse4(ip)
  const text = `http://[${ip.replace(/%[\s\S]*/, '')}]`
  const url = /^http:\/\/\[[\da-f:.]+\]$/i.test(text) ? parsedUrl(text) : undefined
  if (!url) return undefined
  // URL spells an IPv6 address without a dotted part and with at most one gap.
  const [head = [], tail] = url.hostname.slice(1, -1).split('::').map(groupsOf)
  const gap = tail ? Array(8 - head.length - tail.length).fill('0') : []
  return { bits: 128, value: joined([...head, ...gap, ...(tail ?? [])], 16n, '0x') }
}

function parse4(ip: string): Address | undefined {
  const parts = ip.split('.')
  const isByte = (part: string) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256
  return parts.length === 4 && parts.every(isByte) ? { bits: 32, value: joined(parts, 8n) } : undefined
}

function groupsOf(text: string): string[] {
  return text === '' ? [] : text.split(':')
}

function joined(parts: readonly string[], bits: bigint, prefix = ''): bigint {
  return parts.reduce((value, part) => (value << bits) | BigInt(prefix + part), 0n)
}
