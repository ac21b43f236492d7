import type { Entry } from '../../onion/entry.js'
import type { Explainers } from '../facts/explainer.js'
import {
  again,
  askedWait,
  corrected,
  first,
  isPathOf,
  later,
  type Operation,
  type RefusedRequest,
  responseText,
  saidNumber,
} from '../facts/refused-request.js'
import { listText, plural, timeText } from '../facts/words.js'

/** Requests whose address, headers or key the service refuses. */
export const requestExplainers = {
  async path_malformed(asked) {
    const path = asked.entry.path.replace(/%(?![0-9a-f]{2})/gi, '%25')
    const encoded = isDecodable(path) ? path : path.replace(/%(?!25)/g, '%25')
    return {
      sentences: [
        `The path ${asked.entry.path} has a percent sign that begins no UTF-8 character.`,
        `Encode each value with \`encodeURIComponent\`. If the percent sign is meant, it is written %25: ${encoded}.`,
      ],
      facts: { path: asked.entry.path, encoded },
    }
  },

  async target_malformed(asked) {
    return {
      sentences: [`The request line names \`${asked.entry.path}\`, which is no path of ${asked.service.baseUrl}.`],
      facts: { target: asked.entry.path, base_url: asked.service.baseUrl },
    }
  },

  async header_malformed(asked) {
    const fault = asked.entry.request.headers['x-sandbox-fault']
    if (fault !== undefined) return malformedFault(asked, fault)
    const host = asked.entry.request.headers.host ?? null
    const right = new URL(asked.service.baseUrl).host
    return {
      sentences: [`The Host header was ${host === null ? 'missing' : `\`${host}\``}. Send \`Host: ${right}\`.`],
      facts: { host, base_url: asked.service.baseUrl },
      fix: corrected(asked, { headers: { host: right } }),
    }
  },

  async no_such_path(asked) {
    const { entry, service, operations } = asked
    const [path = '/', query] = entry.path.split('?')
    const near = nearPath(path, entry.method, operations)
    const isControl = path.startsWith('/_sandbox/')
    return {
      sentences: [
        `The base URL is ${service.baseUrl}, and no operation has the path ${path} below it.`,
        ...(near === undefined ? [] : [`${near} is an operation.`]),
        ...(isControl && !service.sandbox
          ? ['The service was created without `sandbox: true`, so it has no controls.']
          : []),
      ],
      facts: { path, base_url: service.baseUrl, near: near ?? null, sandbox: service.sandbox !== undefined },
      fix: near === undefined ? undefined : withOperation(asked, query ? `${near}?${query}` : near),
    }
  },

  async method_not_allowed(asked) {
    const { entry } = asked
    const allowed = (entry.response.headers.allow ?? '').split(', ').filter((method) => method !== '')
    const usable = allowed.filter((method) => method !== 'HEAD' && method !== 'OPTIONS')
    const [method] = usable
    return {
      sentences: [`${entry.path} takes ${listText(usable)}, and the request was a ${entry.method}.`],
      facts: { method: entry.method, allowed },
      fix: method === undefined ? undefined : withOperation(asked, entry.path, method),
    }
  },

  async idempotency_key_invalid(asked) {
    const key = asked.entry.request.headers['idempotency-key'] ?? ''
    return {
      sentences: [`The key has ${key.length} characters. A key has 1 to 255 printable ASCII characters.`],
      facts: { characters: key.length, most: 255 },
      fix: corrected(asked, { headers: { 'idempotency-key': `key-${asked.entry.id}` } }),
    }
  },

  async idempotency_in_progress(asked) {
    const { entry, findEarlier } = asked
    // A request that runs shows no headers yet.
    const running = await findEarlier(
      ({ status, method, path }) => status === null && method === entry.method && path === entry.path,
    )
    const found = running ?? (await otherWithKey(asked))
    const other = found && { id: found.id, at: found.at, status: null }
    const wait = askedWait(asked, 1)
    return {
      sentences: [
        ...aboutOther(other),
        `The same request gets its answer once that one has ended. Retry after ${plural(wait, 'second')}.`,
      ],
      facts: { key: entry.request.headers['idempotency-key'] ?? null, other: other ?? null, retry_after: wait },
      fix: corrected(asked, {}),
    }
  },

  async idempotency_mismatch(asked) {
    const other = await otherWithKey(asked)
    const changed = other ? changedFields(asked, other) : []
    return {
      sentences: [
        ...aboutOther(other),
        ...(changed.length > 0 ? [`This request differs in ${listText(changed.map((name) => `\`${name}\``))}.`] : []),
        'Use a new key for a new request.',
      ],
      facts: { ...earlierEntryFacts(asked, other), changed },
      fix: corrected(asked, { headers: { 'idempotency-key': `key-${asked.entry.id}` } }),
    }
  },

  async idempotency_unreadable(asked) {
    const other = await otherWithKey(asked)
    return {
      sentences: [
        ...aboutOther(other),
        'Its answer is not kept, or was sealed with another encryption key than the one that the service has now.',
        'Read the events to see what happened, and use a new key for something new.',
      ],
      facts: earlierEntryFacts(asked, other),
      fix: first(
        asked,
        'listEvents',
        { method: 'GET', path: '/v4/events', ...callerOf(asked) },
        again(asked, { headers: { 'idempotency-key': `key-${asked.entry.id}` } }),
      ),
    }
  },

  async too_many_hops(asked) {
    const via = asked.entry.request.headers.via ?? null
    const hops = via?.split(',').length ?? null
    return {
      sentences: [
        `The Via header names ${hops ?? 'too many'} services that the request passed through. Three are allowed.`,
        'An item whose endpoint buys the same item again never ends. Leave out Via if the request is a new one.',
      ],
      facts: { via, hops, most: 3 },
      fix: corrected(asked, {}),
    }
  },

  async too_many_calls(asked) {
    const { freeCalls } = asked.service.limits
    const most = saidNumber(asked, 'limit') ?? null
    const wait = askedWait(asked, 900)
    // Waiting does not help a cart that is too large.
    if (asked.entry.response.headers['retry-after'] === undefined)
      return {
        sentences: [
          `One payment makes at most ${most ?? freeCalls} calls. Take lines out of the cart, and pay for them in another one.`,
        ],
        facts: { most: most ?? freeCalls },
        fix: undefined,
      }
    return {
      sentences: [
        most === null
          ? `At most ${freeCalls} free calls of one payer reach a host within 15 minutes, \`limits.freeCalls\`. Nothing was called.`
          : `At most ${most} calls of one payer reach a host within a day. Nothing was called.`,
        `The next one is possible after ${plural(wait, 'second')} of the clock of the sandbox.`,
      ],
      facts: { most: most ?? freeCalls, ...(most === null && { option: 'limits.freeCalls' }), retry_after: wait },
      fix: later(asked, wait),
    }
  },

  async slow_down(asked) {
    const wait = askedWait(asked, 2)
    const before = await asked.findEarlier(
      ({ path, principal }) => path === asked.entry.path && principal === asked.entry.principal,
    )
    return {
      sentences: [
        `${asked.entry.path} may be read every two seconds. The next read is possible after ${plural(wait, 'second')}.`,
        ...(before ? [`The poll before was ${before.id}, at ${timeText(Date.parse(before.at))}.`] : []),
      ],
      facts: { interval: 2, retry_after: wait, before: before?.id ?? null },
      fix: later(asked, wait),
    }
  },
} satisfies Explainers

/** The header that makes a fault happen to one request, with a slip in it. */
async function malformedFault(asked: RefusedRequest, value: string) {
  return {
    sentences: [
      `The header X-Sandbox-Fault was \`${value}\`. ${responseText(asked, 'error')?.split('The invalid header is X-Sandbox-Fault: ')[1] ?? ''}`.trim(),
      'Leave it out, or send one such as `before; status=503`.',
    ],
    facts: { header: 'X-Sandbox-Fault', value, said: responseText(asked, 'error') ?? null },
    fix: corrected(asked, {}),
  }
}

const callerOf = ({ entry: { principal } }: RefusedRequest) => (principal === null ? {} : { as: principal })

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

/** The same request at another path or with another method, under the operation that it then calls. */
function withOperation(asked: RefusedRequest, path: string, method = asked.entry.method) {
  const called = asked.operations.find((each) => each.method === method && isPathOf(each, path.split('?')[0] ?? ''))
  return { operation_id: called?.id ?? '', example: again(asked, { path, whole: { method } }), next: null }
}

/** The path of an operation that an unknown path was meant to be: with its version, or without a prefix or a slip. */
function nearPath(path: string, method: string, operations: readonly Operation[]): string | undefined {
  const rest = path.replace(/^\/v\d+(?=\/)/, '')
  const [, below] = /^\/[^/]+(\/(?:v\d|_sandbox)\/.*)$/.exec(path) ?? []
  const isKnown = (each: string) =>
    operations.some((operation) => operation.method === method && isPathOf(operation, each))
  const spelled = operations.flatMap(({ path: known, method: by, versions }) => {
    if (by !== method || known.includes(':') || !isNear(known, rest)) return []
    return [`${versions?.[0] ? `/${versions[0]}` : ''}${known}`]
  })
  return [below, `/v4${rest}`, `/v4${path}`, `/v2${rest}`, ...spelled].find(
    (each) => each !== undefined && isKnown(each),
  )
}

/** Whether one path becomes the other by adding, leaving out or changing one character. */
function isNear(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false
  let start = 0
  while (start < a.length && a[start] === b[start]) start++
  let [endA, endB] = [a.length, b.length]
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) [endA, endB] = [endA - 1, endB - 1]
  return Math.max(endA, endB) - start <= 1
}

/** The first request of this caller with the same key. */
function otherWithKey({ entry, findEarlier }: RefusedRequest): Promise<Entry | undefined> {
  const key = entry.request.headers['idempotency-key']
  return findEarlier(
    (other) =>
      other.request.headers['idempotency-key'] === key &&
      other.principal === entry.principal &&
      other.method === entry.method &&
      other.path.split('?')[0] === entry.path.split('?')[0] &&
      other.code !== entry.code,
  )
}

const aboutOther = (other: Pick<Entry, 'id' | 'at' | 'status'> | undefined): string[] =>
  other
    ? [
        `The key was used by ${other.id} at ${timeText(Date.parse(other.at))}, which ${other.status === null ? 'still runs' : `was answered with ${other.status}`}.`,
      ]
    : ['The journal has no entry of the request that used the key before.']

const earlierEntryFacts = ({ entry }: RefusedRequest, other: Entry | undefined) => ({
  key: entry.request.headers['idempotency-key'] ?? null,
  other: other && { id: other.id, at: other.at, status: other.status, body: other.request.body },
})

function changedFields({ body }: RefusedRequest, { request }: Entry): string[] {
  try {
    const other: Record<string, unknown> = JSON.parse(request.body ?? '{}')
    const names = new Set([...Object.keys(body), ...Object.keys(other)])
    return [...names].filter((name) => JSON.stringify(body[name]) !== JSON.stringify(other[name]))
  } catch {
    return []
  }
}
