import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { isLoopbackAddress, isLoopbackHost, isLoopbackOrigin } from '../../src/base/loopback.js'
import type { OwnAnswer } from './own-answers.js'

/** `.` or `..` as a part of a path, in each spelling that a service may read so. */
const DOTS = /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?:[/\\;#]|%2f|%5c|$)/i

/**
 * Why a request is not passed on. A service gets plain paths below its address only. Programs may call the proxy, and pages
 * of this machine; pages of others may not, nor by a name that leads here (DNS rebinding). `listensAt`: the proxy's address.
 */
export function whyRefused({ url = '', headers }: IncomingMessage, listensAt: string): OwnAnswer | undefined {
  const sentence = pathFault(url) ?? hostFault(nameOf(headers.host), listensAt) ?? pageFault(headers)
  return sentence === undefined ? undefined : { status: 403, error: 'http_request_denied', sentence }
}

const pathFault = (url: string): string | undefined =>
  url.startsWith('/') && !DOTS.test(url.replace(/\?.*/s, ''))
    ? undefined
    : 'It speaks to one service. Send it a plain path.'

const nameOf = (host = ''): string => host.replace(/:\d+$/, '')

/** Beyond this machine, a name without a dot is one of a local network, such as that of a container. */
function hostFault(name: string, listensAt: string): string | undefined {
  if (isLoopbackHost(name)) return undefined
  if (isLoopbackAddress(listensAt)) return 'It serves this machine only.'
  const isLocal = isIP(name.replace(/^\[|\]$/g, '')) !== 0 || /^[\w-]+$/.test(name) || name.endsWith('.internal')
  return isLocal ? undefined : `It is not known by the name of this Host. Use its address.`
}

function pageFault({ host, origin, 'sec-fetch-site': site }: IncomingMessage['headers']): string | undefined {
  const isOwn =
    origin === undefined ? site !== 'cross-site' : isLoopbackOrigin(origin) || hostOf(origin) === nameOf(host)
  return isOwn ? undefined : 'It serves no pages of other origins.'
}

const hostOf = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).hostname : undefined)
