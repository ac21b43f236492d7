import { BlockList } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isAlwaysRefused, isPublicAddress } from '../../src/base/ip-address.js'
import { Problem, problemSentence } from '../../src/base/problem.js'
import type { SandboxContext } from '../../src/http/context.js'
import { addressRule, checkHeaders, checkUpstreamUrl, type UpstreamPolicy } from '../../src/jobs/upstream/policy.js'
import { howMuch } from '../support/how-much.js'

const serious: UpstreamPolicy = { allowUpstream: undefined, sandbox: undefined }
const sandbox: UpstreamPolicy = { allowUpstream: undefined, sandbox: {} as SandboxContext }
const allowing: UpstreamPolicy = { allowUpstream: () => true, sandbox: undefined }
const policies = { serious, sandbox, allowing }

/** `taken`, or why not. */
function verdict(url: string, policy: UpstreamPolicy): string {
  try {
    checkUpstreamUrl(url, policy)
    return 'taken'
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'upstream_refused') throw error
    expect(error.status).toBe(422)
    return error.message.replace(problemSentence('upstream_refused'), '').trim()
  }
}
const verdicts = (url: string) => Object.values(policies).map((policy) => verdict(url, policy))
const NEVER = 'Its host is always refused, such as a cloud metadata service or a link-local address.'
const never = [NEVER, NEVER, NEVER]

describe('A URL that no service calls, with any options', () => {
  test.each([
    ['metadata in four decimals', '169.254.169.254'],
    ['metadata as one decimal number', '2852039166'],
    ['metadata as one hexadecimal number', '0xA9FEA9FE'],
    ['metadata as one octal number', '025177524776'],
    ['metadata in four hexadecimals', '0xa9.0xfe.0xa9.0xfe'],
    ['metadata in four octals', '0251.0376.0251.0376'],
    ['metadata in a mixture', '0xa9.254.0251.254'],
    ['metadata in three parts', '169.254.43518'],
    ['metadata in two parts', '169.16689662'],
    ['metadata with a dot at the end', '169.254.169.254.'],
    ['metadata in full-width digits', '１６９.２５４.１６９.２５４'],
    ['metadata behind ideographic full stops', '169。254。169。254'],
    ['metadata with percent signs', '%31%36%39.254.169.254'],
    ['metadata as IPv6 that maps it', '[::ffff:169.254.169.254]'],
    ['metadata as IPv6 that maps it, in groups', '[0:0:0:0:0:FFFF:a9fe:A9FE]'],
    ['metadata as IPv6 that is compatible with it', '[::169.254.169.254]'],
    ['metadata as IPv6 that translates it', '[::ffff:0:a9fe:a9fe]'],
    ['metadata by NAT64', '[64:ff9b::a9fe:a9fe]'],
    ['metadata by NAT64, dotted', '[64:ff9b::169.254.169.254]'],
    ['metadata by NAT64 of a network of its own', '[64:ff9b:1::a9fe:a9fe]'],
    ['metadata by 6to4', '[2002:a9fe:a9fe::1]'],
    ['metadata by Teredo', '[2001:0:a9fe:a9fe::1]'],
    ["Amazon's metadata over IPv6", '[fd00:ec2::254]'],
    ["Amazon's metadata over IPv6, at length", '[FD00:0EC2:0000:0000:0000:0000:0000:0254]'],
    ["Google's metadata over IPv6", '[fd20:ce::254]'],
    ["Alibaba's metadata", '100.100.100.200'],
    ["Azure's metadata", '168.63.129.16'],
    ["Oracle's metadata", '192.0.0.192'],
    ["Google's metadata by name", 'metadata.google.internal'],
    ["Google's metadata by name with a dot at the end", 'metadata.google.internal.'],
    ["Google's metadata by name in capitals", 'METADATA.Google.Internal'],
    ["Google's metadata by a name below it", 'v1.metadata.google.internal'],
    ["Google's metadata by a short name", 'metadata'],
    ["Amazon's metadata by name", 'instance-data.ec2.internal'],
    ['link-local', '169.254.0.1'],
    ['link-local over IPv6', '[fe80::1]'],
    ['link-local over IPv6, at its end', '[febf:ffff::1]'],
    ['the unspecified address', '0.0.0.0'],
    ['the unspecified address in short', '0'],
    ['all of that network', '0.255.255.255'],
    ['the unspecified address over IPv6', '[::]'],
    ['multicast', '224.0.0.1'],
    ['multicast at its end', '239.255.255.255'],
    ['multicast over IPv6', '[ff02::1]'],
    ['broadcast', '255.255.255.255'],
  ])('is %s', (_, host) => {
    expect(verdicts(`http://${host}/latest/meta-data`)).toEqual(never)
    expect(verdicts(`https://${host}:8443/?q=1`)).toEqual(never)
  })

  test.each([
    ['has a user name', 'https://user@shop.example.test/', 'It must not contain a user name or a password.'],
    ['has a password', 'https://:pass@shop.example.test/', 'It must not contain a user name or a password.'],
    [
      'hides its host behind a user',
      'https://shop.example.test@evil.example.test/',
      'It must not contain a user name or a password.',
    ],
    ['is of a file', 'file:///etc/passwd', 'Its scheme must be http or https.'],
    ['is of FTP', 'ftp://shop.example.test/', 'Its scheme must be http or https.'],
    ['is of gopher', 'gopher://shop.example.test:25/_MAIL', 'Its scheme must be http or https.'],
    ['holds its content', 'data:text/plain,hello', 'Its scheme must be http or https.'],
    ['is a program', 'javascript:alert(1)', 'Its scheme must be http or https.'],
    ['is a blob', 'blob:https://shop.example.test/1', 'Its scheme must be http or https.'],
    ['is of a socket', 'ws://shop.example.test/', 'Its scheme must be http or https.'],
    ['is a path', '/v4/paywall', 'It must be an absolute URL.'],
    ['has no host', 'https://', 'It must be an absolute URL.'],
    ['has a number too large for its host', 'https://4294967296/', 'It must be an absolute URL.'],
    ['has a zone in its host', 'http://[fe80::1%25eth0]/', 'It must be an absolute URL.'],
    [
      'holds a line break',
      'https://shop.example.test/\r\nHost: evil',
      'It must not contain white space or control characters.',
    ],
    [
      'holds a line feed in its scheme',
      'ht\ntps://shop.example.test/',
      'It must not contain white space or control characters.',
    ],
    ['holds a tab in its host', 'https://169.254\t.169.254/', 'It must not contain white space or control characters.'],
    ['begins with a space', ' https://shop.example.test/', 'It must not contain white space or control characters.'],
    ['holds a null', 'https://shop.example.test/\0', 'It must not contain white space or control characters.'],
  ])('is one that %s', (_, url, why) => expect(verdicts(url)).toEqual([why, why, why]))
})

describe('A service without a sandbox', () => {
  test.each([
    'https://shop.example.test/',
    'https://shop.example.test:8443/a?b=c',
    'https://shop.example.test./',
    'https://8.8.8.8/',
    'https://[2606:4700:4700::1111]/',
    'https://[64:ff9b::808:808]/',
    'https://mylocalhost.example.test/',
    'https://172.32.0.1/',
  ])('calls %s', (url) => expect(verdict(url, serious)).toBe('taken'))

  test.each([
    'localhost',
    'localhost.',
    'LOCALHOST',
    'shop.localhost',
    'localhost.localdomain',
    'printer.local',
    'db.internal',
    'nas.home.arpa',
    'intranet',
    'intranet.',
    '127.0.0.1',
    '127.1',
    '0x7f000001',
    '017700000001',
    '127.255.255.254',
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    '192.0.2.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '240.0.0.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:10.0.0.1]',
    '[64:ff9b::10.0.0.1]',
    '[2002:7f00:1::]',
    '[fc00::1]',
    '[fd12:3456::1]',
    '[fec0::1]',
    '[2001:db8::1]',
    '[3fff::1]',
    '[100::1]',
    '[5f00::1]',
  ])('does not call %s, but a sandbox does', (host) => {
    const url = `https://${host}/`
    expect(verdict(url, serious)).toBe('Its host must be public.')
    expect([verdict(url, sandbox), verdict(url, allowing)]).toEqual(['taken', 'taken'])
  })

  test('calls nothing over http, but a sandbox does', () => {
    expect(verdicts('http://shop.example.test/')).toEqual(['This service calls only https URLs.', 'taken', 'taken'])
  })
})

test('`allowUpstream` also works for a sandbox, and for everything that is not always refused', () => {
  const asked: string[] = []
  const allowUpstream = (url: URL) => {
    asked.push(url.href)
    url.hostname = '169.254.169.254'
    return url.pathname === '/yes'
  }
  for (const policy of [
    { allowUpstream, sandbox: undefined },
    { allowUpstream, sandbox: sandbox.sandbox },
  ]) {
    expect(checkUpstreamUrl('http://10.0.0.1/yes', policy).href).toBe('http://10.0.0.1/yes')
    expect(verdict('https://shop.example.test/no', policy)).toBe("This service's configuration does not allow it.")
    expect(verdict('http://169.254.169.254/yes', policy)).toBe(NEVER)
  }
  expect(asked).toEqual(Array(2).fill(['http://10.0.0.1/yes', 'https://shop.example.test/no']).flat())
})

test('A URL is called without its fragment, in the spelling that was checked', () => {
  expect(checkUpstreamUrl('https://Shop.Example.test:443/a/../b?c=d#e', serious).href).toBe(
    'https://shop.example.test/b?c=d',
  )
  expect(checkUpstreamUrl('http://0x7f.1/#', sandbox).href).toBe('http://127.0.0.1/')
})

test('A refusal does not repeat the query', () => {
  expect(verdict('https://10.0.0.1/?token=hunter2', serious)).not.toContain('hunter2')
})

describe('An address that a name resolves to', () => {
  test.each([
    ['8.8.8.8', [true, true, true]],
    ['2606:4700:4700::1111', [true, true, true]],
    ['64:ff9b::8.8.8.8', [true, true, true]],
    ['127.0.0.1', [false, true, true]],
    ['10.0.0.1', [false, true, true]],
    ['::1', [false, true, true]],
    ['fc00::1', [false, true, true]],
    ['fc00::1%eth0', [false, true, true]],
    ['169.254.169.254', [false, false, false]],
    ['::ffff:169.254.169.254', [false, false, false]],
    ['64:ff9b::a9fe:a9fe', [false, false, false]],
    ['fe80::1', [false, false, false]],
    ['fe80::1%eth0', [false, false, false]],
    ['fd00:ec2::254', [false, false, false]],
    ['0.0.0.0', [false, false, false]],
    ['::', [false, false, false]],
    // No addresses at all.
    ['', [false, false, false]],
    ['8.8.8', [false, false, false]],
    ['08.8.8.8', [false, false, false]],
    ['8.8.8.256', [false, false, false]],
    ['8.8.8.8.8', [false, false, false]],
    ['shop.example.test', [false, false, false]],
    ['2606::4700::1', [false, false, false]],
    ['2606:4700::1]/@[::1', [false, false, false]],
    [':', [false, false, false]],
  ])('%s may be connected to by a service, a sandbox and whoever allows: %j', (address, expected) => {
    expect(Object.values(policies).map((policy) => addressRule(policy)(address))).toEqual(expected)
  })
})

describe('Headers', () => {
  test.each([
    ['a line break in a value', { 'x-a': 'b\r\nhost: evil' }, 'The value of the header x-a contains a line break'],
    ['a line feed in a value', { 'x-a': 'b\nc' }, 'The value of the header x-a contains a line break'],
    ['a null in a value', { 'x-a': '\0' }, 'The value of the header x-a contains a line break'],
    [
      'a character beyond Latin-1',
      { 'x-a': '€' },
      'The value of the header x-a contains a line break or another invalid character',
    ],
    ['a line break in a name', { 'x-a\r\nhost': 'evil' }, 'The name of a header contains invalid characters.'],
    ['a colon in a name', { 'x-a:': 'b' }, 'The name of a header contains invalid characters.'],
    ['no name', { '': 'b' }, 'The name of a header contains invalid characters.'],
    [
      'a host of their own',
      { Host: 'evil.example.test' },
      'The header Host cannot be set, because it describes the connection.',
    ],
    [
      'a length of their own',
      { 'content-length': '0' },
      'The header content-length cannot be set, because it describes the connection.',
    ],
    ['chunks of their own', { 'transfer-encoding': 'chunked' }, 'The header transfer-encoding cannot be set'],
    [
      'an upgrade',
      { connection: 'upgrade' },
      'The header connection cannot be set, because it describes the connection.',
    ],
  ])('with %s are refused', (_, headers, why) => {
    expect(() => checkHeaders(headers)).toThrow(why)
    expect(() => checkHeaders(headers)).toThrow(expect.objectContaining({ code: 'upstream_refused', status: 422 }))
  })

  test('of other kinds are accepted', () => {
    expect(() => checkHeaders({ 'content-type': 'application/json', 'X-Key': 'a\tb é', 'x-empty': '' })).not.toThrow()
  })
})

describe('Every IPv4 address', () => {
  /** Node's own lists of addresses, of which the guard knows nothing. */
  const listed = (ranges: readonly string[]) => {
    const list = new BlockList()
    for (const range of ranges) {
      const [network = '', length] = range.split('/')
      list.addSubnet(network, Number(length))
    }
    return list
  }
  const refused = listed([
    ...['0.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '255.255.255.255/32'],
    ...['100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32'],
  ])
  const local = listed([
    ...[
      '10.0.0.0/8',
      '100.64.0.0/10',
      '127.0.0.0/8',
      '172.16.0.0/12',
      '192.0.0.0/24',
      '192.0.2.0/24',
      '192.88.99.0/24',
    ],
    ...['192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '240.0.0.0/4'],
  ])
  const dotted = (n: number) => [24, 16, 8, 0].map((shift) => (n >>> shift) & 255).join('.')
  const numberOf = (ip: string) => ip.split('.').reduce((n, part) => n * 256 + Number(part), 0)
  /** Any, and more often those at and beside the edges of what is judged apart. */
  const edges = ['10.0.0.0', '11.0.0.0', '100.64.0.0', '100.100.100.200', '100.128.0.0', '127.0.0.0', '128.0.0.0']
    .concat(['168.63.129.16', '169.254.0.0', '169.254.169.254', '169.255.0.0', '172.16.0.0', '172.32.0.0', '192.0.0.0'])
    .concat(['192.0.0.192', '192.0.1.0', '192.0.2.0', '192.0.3.0', '192.88.99.0', '192.88.100.0', '192.168.0.0'])
    .concat(['192.169.0.0', '198.18.0.0', '198.20.0.0', '198.51.100.0', '198.51.101.0', '203.0.113.0', '203.0.114.0'])
    .concat(['224.0.0.0', '240.0.0.0', '255.255.255.255', '1.0.0.0', '0.0.0.2'])
  const near = fc
    .tuple(fc.constantFrom(...edges.map(numberOf)), fc.constantFrom(-1, 0, 1))
    .map(([n, by]) => (n + by) >>> 0)
  const addresses = fc.oneof(near, fc.integer({ min: 0, max: 2 ** 32 - 1 }))

  test('follows the IANA registry', () => {
    fc.assert(
      fc.property(addresses, (n) => {
        const ip = dotted(n)
        const isRefused = refused.check(ip)
        expect([isAlwaysRefused(ip), isPublicAddress(ip)]).toEqual([isRefused, !isRefused && !local.check(ip)])
      }),
      { numRuns: howMuch(500, 2000) },
    )
  })

  test('has the same result in every spelling', () => {
    const bases = [(n: number) => String(n), (n: number) => `0x${n.toString(16)}`, (n: number) => `0${n.toString(8)}`]
    const groups = (n: number) => `${(n >>> 16).toString(16)}:${(n & 0xffff).toString(16)}`
    const spelled = fc.tuple(
      addresses,
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.nat(2), { minLength: 4, maxLength: 4 }),
    )
    fc.assert(
      fc.property(spelled, ([n, count, picks]) => {
        const bytes = [24, 16, 8, 0].slice(0, count - 1).map((shift) => (n >>> shift) & 255)
        const last = count === 1 ? n : n % 2 ** (8 * (5 - count))
        const short = [...bytes, last].map((part, i) => bases[picks[i] as number]?.(part)).join('.')
        const carried = [`::ffff:${dotted(n)}`, `::ffff:${groups(n)}`, `::ffff:0:${groups(n)}`]
          .concat([
            `64:ff9b::${dotted(n)}`,
            `64:ff9b::${groups(n)}`,
            `2002:${groups(n)}::`,
            `2002:${groups(n)}:5:6:7:8:9`,
          ])
          // That one is the loopback of IPv6.
          .concat(n === 1 ? [] : `::${dotted(n)}`)
        const expected = verdicts(`https://${dotted(n)}/`)
        for (const host of [short, `${short}.`, ...carried.map((ip) => `[${ip}]`)])
          expect([host, verdicts(`https://${host}/`)]).toEqual([host, expected])
        for (const ip of carried)
          for (const policy of Object.values(policies))
            expect([ip, addressRule(policy)(ip)]).toEqual([ip, addressRule(policy)(dotted(n))])
      }),
      { numRuns: howMuch(100, 500) },
    )
  })
})
