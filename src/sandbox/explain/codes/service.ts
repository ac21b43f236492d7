import { forwardedHeaders } from '../../../base/forwarded-headers.js'
import { isLoopbackHost } from '../../../base/loopback.js'
import { problemSentence } from '../../../base/problem.js'
import { sandboxOf } from '../../onion/context.js'
import { describeEffects } from '../facts/effects.js'
import type { Explainers } from '../facts/explainer.js'
import type { Fix } from '../facts/explanation.js'
import {
  again,
  corrected,
  first,
  type RefusedRequest,
  responseText,
  saidNumber,
  sentText,
} from '../facts/refused-request.js'
import { named, plural, timeText } from '../facts/words.js'

/** The service itself, its storage, its modes, and the controls of the sandbox. */
export const serviceExplainers = {
  internal_error: failed,
  outcome_unknown: failed,
  not_loaded: failed,
  storage_unavailable: failed,

  async not_bundled(asked) {
    const part = responseText(asked, 'part')
    const what = part === undefined ? `the part that answers ${asked.entry.operation_id}` : `the part "${part}"`
    return {
      sentences: [`The service was created without ${what} of farthing/parts. Nothing was changed.`],
      facts: { part: part ?? null },
    }
  },

  async overloaded(asked) {
    const bytes = saidNumber(asked, 'body_bytes')
    if (bytes !== undefined)
      return {
        sentences: [
          `The bodies of all requests may take ${bytes} bytes of memory. So the service turned this one away, and nothing was changed.`,
          'Repeat it, or raise `limits.bodiesBytes`.',
        ],
        facts: { body_bytes: bytes, option: 'limits.bodiesBytes' },
        fix: corrected(asked, {}),
      }
    const [waiting, queue] = [saidNumber(asked, 'waiting') ?? null, saidNumber(asked, 'queue') ?? null]
    return {
      sentences: [
        `${waiting ?? 'Too many'} requests waited, and ${queue ?? 'no more'} may. So the service turned this one away, and nothing was changed.`,
        'Repeat it, or raise `limits.queue`.',
      ],
      facts: { waiting, queue, option: 'limits.queue' },
      fix: corrected(asked, {}),
    }
  },

  // The journal leaves probes out.
  not_ready: failed,

  async storage_full(asked) {
    const finding = await failed(asked)
    return {
      ...finding,
      sentences: [...finding.sentences, 'Free space, or export the state and delete what nobody needs.'],
      fix: {
        operation_id: 'readSnapshot',
        example: { method: 'GET', path: '/_sandbox/snapshot' },
        next: again(asked),
      },
    }
  },

  async evidence_refused(asked) {
    const { operation, service, entry } = asked
    const [, what = 'This operation', grade] =
      /(This operation|The field "[^"]+"|The header "[^"]+") is (\w+), and/.exec(responseText(asked, 'error') ?? '') ??
      []
    const [, field] = /"([^"]+)"/.exec(what) ?? []
    const isKey = field === 'Idempotency-Key'
    return {
      sentences: [
        `The service accepts what is \`${service.evidence}\` or better. ${what}${operation ? ` (${operation.id})` : ''} is ${grade ? `\`${grade}\`` : 'weaker'}.`,
        'Leave it out, or start the service without `--evidence`.',
      ],
      facts: {
        mode: service.evidence,
        refused: field ?? entry.operation_id,
        grade: grade ?? null,
        option: 'evidence',
        flag: '--evidence',
      },
      fix:
        field === undefined
          ? undefined
          : isKey
            ? withoutKey(asked)
            : corrected(
                asked,
                field in asked.query ? { query: { [field]: undefined } } : { body: { [field]: undefined } },
              ),
    }
  },

  async sandbox_refused(asked) {
    const { headers } = asked.entry.request
    const forwarded = forwardedHeaders(Object.keys(headers))
    const { hostname } = new URL(asked.service.baseUrl)
    const token = 'x-control-token' in headers
    return {
      sentences: [
        forwarded.length > 0
          ? `The request has ${forwarded.join(', ')}, so it was passed on for someone who may be anywhere.`
          : headers.origin === undefined
            ? isLoopbackHost(hostname)
              ? 'The request came from another machine, or the sandbox allows a host that is not this machine.'
              : `The sandbox has the public name ${hostname}, so a tunnel may lead to it, and a caller on this machine needs the token too.`
            : `The request came from a page of ${headers.origin}, or from another machine.`,
        token
          ? 'It had a control token, which is not that of this sandbox.'
          : 'It had no control token. The sandbox prints the token at its start, and --control-token sets it.',
      ],
      facts: { forwarded, origin: headers.origin ?? null, sent_token: token, flag: '--control-token' },
      fix: corrected(asked, { headers: { 'x-control-token': '[redacted]' } }),
    }
  },

  async origin_refused(asked) {
    const { origin } = asked.entry.request.headers
    return {
      sentences: [
        `The request came from a page of ${origin ?? 'an origin that it does not name'}, without credentials of its own.`,
        `To allow it, start the sandbox with \`--allow-origin ${origin ?? 'ORIGIN'}\`, or \`createService({ allowOrigins: ['${origin ?? 'ORIGIN'}'] })\`.`,
        `Pages of ${new URL(asked.service.baseUrl).origin} and of this machine are always allowed.`,
      ],
      facts: {
        origin: origin ?? null,
        allowed: partsOf(asked)?.access.allowOrigins ?? [],
        flag: `--allow-origin ${origin ?? 'ORIGIN'}`,
      },
      fix: corrected(asked, { headers: { origin: new URL(asked.service.baseUrl).origin } }),
    }
  },

  async host_refused(asked) {
    const host =
      asked.entry.request.headers.host ?? /--allow-host (\S+?)\.?$/.exec(responseText(asked, 'error') ?? '')?.[1]
    return {
      sentences: [
        `The request names the host ${host ?? 'of someone else'}. The sandbox answers for ${new URL(asked.service.baseUrl).host} and for this machine.`,
        `To allow the host, start the sandbox with \`--allow-host ${host ?? 'HOST'}\`.`,
      ],
      facts: {
        host: host ?? null,
        base_url: asked.service.baseUrl,
        allowed: partsOf(asked)?.access.allowHosts ?? [],
        flag: `--allow-host ${host ?? 'HOST'}`,
      },
      fix: corrected(asked, { headers: { host: new URL(asked.service.baseUrl).host } }),
    }
  },

  async already_exists(asked) {
    const name = sentText(asked, 'name') ?? sentText(asked, 'id')
    if (asked.entry.operation_id !== 'seedSandbox' && name !== undefined) return nameTaken(asked, name)
    const counts = Object.entries(asked.body).flatMap(([name, list]) =>
      Array.isArray(list) ? [`${list.length} ${name}`] : [],
    )
    const earlier = await asked.findEarlier(
      ({ operation_id, status, request }) =>
        operation_id === asked.entry.operation_id && status === 201 && request.body === asked.entry.request.body,
    )
    return {
      sentences: [
        `The seed has ${counts.join(', ') || 'nothing that the journal shows'}. One of it was there already, so nothing was created.`,
        ...(earlier ? [`The same seed was planted by ${earlier.id}.`] : []),
        'Reset the sandbox, or leave out fixed ids.',
      ],
      facts: { seed: counts, planted_by: earlier?.id ?? null, said: responseText(asked, 'error') ?? null },
      fix: first(asked, 'resetSandbox', { method: 'POST', path: '/_sandbox/reset' }),
    }
  },

  async snapshot_invalid(asked) {
    const keys = Object.keys(asked.body)
    const missing = ['counters', 'rows'].filter((name) => !keys.includes(name))
    return {
      sentences: [
        missing.length > 0
          ? `The document has no ${missing.map((name) => `\`${name}\``).join(' and no ')}.`
          : `The document has the parts of a snapshot. ${responseText(asked, 'error')?.replace(problemSentence('snapshot_invalid'), '').trim() ?? ''}`.trim(),
        'Send what GET /_sandbox/snapshot returned.',
      ],
      facts: {
        fields: keys,
        missing,
        said: responseText(asked, 'error') ?? null,
        cut: asked.entry.request.cut ?? false,
      },
      fix: snapshotFirst(asked),
    }
  },

  async snapshot_newer(asked) {
    const known = partsOf(asked)?.schemas.current ?? null
    const [, schema] = /has schema (\d+)/.exec(responseText(asked, 'error') ?? '') ?? []
    const said = asked.body.schema ?? (schema === undefined ? null : Number(schema))
    return {
      sentences: [
        `The snapshot says schema ${said ?? 'of a later release'}. This farthing knows schema ${known ?? 'of its own release'}, and nothing later. Update farthing.`,
      ],
      facts: { schema: said, known },
    }
  },

  async rewind_refused(asked) {
    const to = sentText(asked, 'to')
    const target = await asked.findEarlier(({ id }) => id === to)
    const reason = (responseText(asked, 'error') ?? '').replace(problemSentence('rewind_refused'), '').trim()
    return {
      sentences: [
        ...(target ? [`${to} was ${target.operation_id ?? target.path} at ${timeText(Date.parse(target.at))}.`] : []),
        reason,
        'Nothing was changed. A named snapshot keeps its whole state: POST /_sandbox/snapshots saves one.',
      ],
      facts: {
        to: to ?? null,
        reason,
        target: target ? { operation_id: target.operation_id, at: target.at } : null,
      },
      fix: reason.includes('Other processes')
        ? { operation_id: 'createFork', example: { method: 'POST', path: '/_sandbox/forks' }, next: null }
        : undefined,
    }
  },

  async sandbox_full(asked) {
    const isFork = asked.entry.operation_id !== 'saveNamedState'
    const what = isFork ? 'forks' : 'snapshots'
    const [, most, oldest] = /At most (\d+) \w+\. The oldest is (\S+)\.$/.exec(responseText(asked, 'error') ?? '') ?? []
    return {
      sentences: [
        `The sandbox holds ${most ?? 'as many'} ${what}${most === undefined ? ' as it can' : ', and no more are possible'}.`,
        ...(oldest === undefined ? [] : [`The oldest is \`${oldest}\`.`]),
        'Remove one that you no longer need.',
      ],
      facts: {
        operation_id: asked.entry.operation_id,
        name: sentText(asked, 'name') ?? null,
        most: most === undefined ? null : Number(most),
        oldest: oldest ?? null,
      },
      fix:
        oldest === undefined
          ? undefined
          : first(asked, isFork ? 'removeFork' : 'removeNamedState', {
              method: 'DELETE',
              path: `/_sandbox/${what}/${encodeURIComponent(oldest)}`,
            }),
    }
  },

  async snapshot_refused(asked) {
    const { collection, id } = asked.refusal
    return {
      sentences: [
        `${named('row', id === null ? undefined : String(id ?? ''))} of \`${collection ?? 'a collection'}\` contradicts the rest of the snapshot.`,
        'The state is as it was. Send a snapshot that was not edited.',
      ],
      facts: { collection: collection ?? null, id: id ?? null },
      fix: snapshotFirst(asked),
    }
  },

  async not_replayable(asked) {
    const field = responseText(asked, 'field')
    return {
      sentences: [
        `${field ? `The part \`${field}\` of the entry` : 'A part of the entry'} is missing in the journal, and cannot be made anew.`,
        'Nothing was sent. Send the request yourself.',
      ],
      facts: { field: field ?? null },
    }
  },
} satisfies Explainers

/** The service or its storage failed. What is known is what the entry counted, and the fault that caused it. */
async function failed(asked: RefusedRequest) {
  const { storage, caused, fault, ms } = asked.entry
  const isSafe = asked.entry.code !== 'outcome_unknown'
  const key = asked.entry.request.headers['idempotency-key']
  return {
    sentences: [
      `The request ended ${plural(storage.transactions, 'transaction')}${storage.retries > 0 ? ` and ${plural(storage.retries, 'retry').replace('retrys', 'retries')}` : ''}${ms === null ? '' : `, in ${Math.round(ms)} ms`}, and caused ${caused.length === 0 ? 'nothing' : plural(caused.length, 'effect')}.`,
      ...(fault ? [] : ['No fault of the sandbox caused this. The log of the service has the reason.']),
      ...(asked.entry.code === 'not_loaded'
        ? ['A part of the service is loaded on its first use, and it could not be. The next request tries again.']
        : []),
      ...(isSafe ? [] : await outcomeOf(asked)),
      isSafe
        ? 'Nothing was changed, so the request can be repeated.'
        : key === undefined
          ? 'Look at the events before you repeat it: it may have happened.'
          : 'Repeat it with the same Idempotency-Key: nothing happens twice.',
    ],
    facts: { storage, caused, fault: fault ?? null, reason: responseText(asked, 'fault') ?? null },
    fix:
      isSafe || key !== undefined
        ? corrected(asked, {})
        : {
            operation_id: 'listEvents',
            example: {
              method: 'GET',
              path: '/v4/events',
              ...(asked.entry.principal !== null && { as: asked.entry.principal }),
            },
            next: null,
          },
  }
}

/** A named snapshot or a fault that is there already. */
function nameTaken(asked: RefusedRequest, name: string) {
  const [what, operation, path] =
    asked.entry.operation_id === 'saveNamedState'
      ? (['A snapshot with the name', 'removeNamedState', `/_sandbox/snapshots/${encodeURIComponent(name)}`] as const)
      : (['A fault with the id', 'disarmFault', `/_sandbox/faults/${encodeURIComponent(name)}`] as const)
  return {
    sentences: [`${what} \`${name}\` is there already.`, 'Remove it first, or choose another name.'],
    facts: { name, operation_id: asked.entry.operation_id },
    fix: first(asked, operation, { method: 'DELETE', path }),
  }
}

/** What has happened after all, as the state of that moment shows. */
async function outcomeOf({ tx, entry: { caused } }: RefusedRequest): Promise<string[]> {
  const { sentences } = await describeEffects(tx, caused)
  const made = sentences.filter((sentence) => !/no longer/.test(sentence))
  return made.length > 0 ? ['It happened:', ...made] : ['The state of that moment shows nothing of it.']
}

/** Reads a snapshot of the present state, which can be restored. */
const snapshotFirst = (asked: RefusedRequest): Fix =>
  first(
    asked,
    'readSnapshot',
    { method: 'GET', path: '/_sandbox/snapshot' },
    again(asked, { whole: { body: { schema: '{schema}', counters: '{counters}', rows: '{rows}' } } }),
  )

function withoutKey(asked: RefusedRequest): Fix {
  const { headers, ...example } = again(asked)
  return { operation_id: asked.entry.operation_id ?? '', example, next: null }
}

/** Undefined for a service that is no sandbox. */
const partsOf = ({ service }: RefusedRequest) => service.sandbox && sandboxOf(service)
