import { parsedUrl } from '../../../base/text/foreign-url.js'
import { rates } from '../../../jobs/rates/rate.js'
import { webhooks } from '../../../jobs/webhooks/webhook-row.js'
import { reservations } from '../../../money/ledger/movement.js'
import type { Fix } from '../facts/explanation.js'
import { itemIn } from '../facts/price.js'
import type { Explainers, RefusedRequest } from '../facts/refused-request.js'
import { timeText } from '../facts/words.js'

/** The controls of the sandbox, webhooks, streams, and limits. */
export const controlExplainers = {
  async already_exists(asked) {
    const name = asked.sentText('name') ?? asked.sentText('id')
    const { operation_id, request } = asked.entry
    if (operation_id !== 'seedSandbox' && name !== undefined) {
      const what = operation_id === 'saveNamedState' ? 'snapshot' : 'fault'
      return { name, what, fix: asked.first(`DELETE /_sandbox/${what}s/${encodeURIComponent(name)}`) }
    }
    const seed = Object.entries(asked.body).flatMap(([name, list]) =>
      Array.isArray(list) ? `${list.length} ${name}` : [],
    )
    const earlier = await asked.findEarlier(
      (each) => each.operation_id === operation_id && each.status === 201 && each.request.body === request.body,
    )
    return { seed, planted_by: earlier?.id, fix: asked.first('POST /_sandbox/reset') }
  },
  snapshot_invalid(asked) {
    const fields = Object.keys(asked.body)
    const missing = ['counters', 'rows'].filter((name) => !fields.includes(name))
    const { cut = false } = asked.entry.request
    return { fields, missing, said: asked.textFact('detail'), cut, fix: snapshotFirst(asked) }
  },
  snapshot_refused: (asked) => ({ fix: snapshotFirst(asked) }),
  async rewind_refused(asked) {
    const to = asked.sentText('to')
    const found = await asked.findEarlier(({ id }) => id === to)
    const target = found && { operation_id: found.operation_id, at: timeText(Date.parse(found.at)) }
    const fix = asked.facts.shared === true && asked.instead('POST /_sandbox/forks', { as: null })
    return { to, reason: asked.textFact('detail'), target, fix }
  },
  sandbox_full(asked) {
    const { what, oldest } = asked.facts
    const fix = oldest !== undefined && asked.first(`DELETE /_sandbox/${what}/${encodeURIComponent(String(oldest))}`)
    return { operation_id: asked.entry.operation_id, name: asked.sentText('name'), fix }
  },
  async too_many_webhooks(asked) {
    const account = asked.callerId('account')
    const own = await asked.rows(webhooks, 'byAccount', [account ?? 0], 100)
    const fix = own[0] && asked.first(`DELETE /v4/webhooks/${own[0].id}`, { as: `account:${account}` })
    return { account, most: 20, webhooks: own.map(({ id, url, status }) => ({ id, url, status })), fix }
  },
  async webhook_disabled(asked) {
    const id = asked.sentNumber('id') ?? 0
    const { id: webhook, url, disabled_reason } = (await asked.tx.get(webhooks, id)) ?? {}
    const why = disabled_reason === 'owner' ? 'its owner disabled it' : disabled_reason?.replaceAll('_', ' ')
    const fix = asked.first(`PUT /v4/webhooks/${id}`, { as: asked.callerOwner(), body: { status: 'enabled' } })
    return { webhook, url, disabled_reason, why, fix }
  },
  too_many_streams: (asked) => ({ owner: asked.callerOwner(), most: asked.numberFact('limit'), fix: undefined }),
  async upstream_refused(asked) {
    const field = ['external_endpoint', 'serviceUrl', 'service_url'].find((name) => name in asked.body)
    const url = asked.sentText(field ?? '') ?? (await itemIn(asked))?.external_endpoint
    const host = url === undefined ? undefined : parsedUrl(url)?.hostname
    const served = asked.service.sandbox?.isServed ?? false
    const rule = served ? 'public hosts and this machine' : 'every host that this process can reach'
    const fix = field && asked.withFields({ [field]: 'https://api.example.test/' })
    return { url, host, served, flag: host && `--allow-upstream ${host}`, rule, fix }
  },
  too_many_new(asked) {
    const of = (asked.textFact('of') ?? 'things').replaceAll('_', ' ')
    const isBytes = of === 'stored bytes'
    const { newPerDay } = asked.service.limits
    const most = asked.numberFact('limit') ?? newPerDay
    const option = isBytes ? 'limits.storedBytesPerDay' : most === newPerDay ? 'limits.newPerDay' : null
    const owner = asked.callerOwner() ?? 'The address of the caller'
    return { of, what: isBytes ? of : `new ${of}`, most, option, owner, fix: undefined }
  },
  async too_many_declines(asked) {
    const rows = await asked.newest(rates, 'byEnd', [], 100)
    const counts = rows.flatMap(({ id, times }) => (id.startsWith('card_declines:') ? [times.length] : []))
    const payer = asked.entry.principal ?? 'this link'
    return { payer, payment_method_id: asked.sentText('payment_method_id'), declined: Math.max(...counts, 0) }
  },
  async too_many_charges(asked) {
    const open = await asked.rows(reservations, 'id', [], 1000)
    const who = asked.entry.principal
    return { open: open.length, own: open.filter(({ maker }) => maker === who).length, payer: who ?? 'this link' }
  },
} satisfies Explainers

const snapshotFirst = (asked: RefusedRequest): Fix =>
  asked.first('GET /_sandbox/snapshot', {
    next: asked.again({ whole: { body: { schema: '{schema}', counters: '{counters}', rows: '{rows}' } } }),
  })
