import { digitalQuantities } from '../../../money/digital-quantities/digital-quantity.js'
import type { Explainers } from '../facts/explainer.js'
import type { Fix } from '../facts/explanation.js'
import {
  corrected,
  type Fields,
  isFields,
  REDACTED,
  type RefusedRequest,
  responseText,
  sent,
} from '../facts/refused-request.js'
import { listText, plural } from '../facts/words.js'

/** Bodies and fields that cannot be read. */
export const bodyExplainers = {
  async body_malformed(asked) {
    const { request } = asked.entry
    const text = request.body ?? ''
    const repaired = repair(text)
    const type = request.headers['content-type'] ?? 'no media type'
    const why = isJsonArrayText(text)
      ? 'The body is a JSON list, and the operation takes one object.'
      : `The body has ${plural(text.length, 'character')}, and was sent as ${type}.`
    return {
      sentences: [
        why,
        repaired
          ? 'A comma before a closing bracket, or a list around one object, is all that is wrong.'
          : `Correct the text, and send it again.${type.includes('json') ? ` ${slipIn(text)}` : ''}`,
      ],
      facts: {
        content_type: request.headers['content-type'] ?? null,
        characters: text.length,
        begins: text.slice(0, 80),
      },
      fix: repaired && corrected(asked, { whole: { body: repaired } }),
    }
  },

  async field_invalid(asked) {
    const field = responseText(asked, 'field')
    const value = field === undefined ? undefined : valueAt(asked, field)
    const declared = Object.keys(asked.operation?.body?.shape ?? asked.operation?.query?.shape ?? {})
    const was = value === undefined ? 'is not there' : `was ${sentValueText(value)}`
    const fix = field === undefined ? undefined : correctedField(asked, field, value)
    const [, rule] = /(must be [^.]+)\.?$/.exec(responseText(asked, 'error') ?? '') ?? []
    return {
      sentences: [
        ...(field === undefined ? [] : [`The field \`${field}\` ${was}.`]),
        ...(fix || field === undefined
          ? []
          : [`${value === undefined ? 'Send it' : 'Correct it'}${rule === undefined ? '' : `: it ${rule}`}.`]),
        ...(declared.length === 0 ? [] : [`The operation takes ${listText(declared.map((name) => `\`${name}\``))}.`]),
      ],
      facts: { field: field ?? null, value: value ?? null, fields: declared },
      fix,
    }
  },

  async amount_invalid(asked) {
    const name = ['amount', 'cost', 'price', 'limit', 'price_per_call'].find(
      (each) => typeof sent(asked, each) === 'number',
    )
    const value = name === undefined ? undefined : Number(sent(asked, name))
    const most = await decimalsOf(asked)
    const rounded = value === undefined || !(value > 0) ? undefined : Math.max(Number(value.toFixed(most)), 10 ** -most)
    return {
      sentences: [
        ...(name === undefined ? [] : [`\`${name}\` was ${value}.`]),
        `An amount of this digital quantity has at most ${plural(most, 'decimal')}, so its smallest amount is ${10 ** -most}.`,
      ],
      facts: { field: name ?? null, amount: value ?? null, decimals: most, smallest: 10 ** -most },
      fix: name === undefined || rounded === undefined ? undefined : corrected(asked, { body: { [name]: rounded } }),
    }
  },

  async card_data_refused(asked) {
    const cards = Object.keys(asked.body).filter((name) => looksLikeCard(name, asked.body[name]))
    const removed = Object.fromEntries(cards.map((name) => [name, undefined]))
    return {
      sentences: [
        `${cards.length === 0 ? 'A field' : listText(cards.map((name) => `\`${name}\``))} held what looks like a card number. The journal does not keep it.`,
        'Card numbers never pass through this service. Send the id of a payment method, such as `pm_card_visa`.',
      ],
      facts: { fields: cards, test_payment_method: 'pm_card_visa' },
      fix: corrected(asked, { body: { ...removed, payment_method_id: 'pm_card_visa' } }),
    }
  },

  async body_too_large(asked) {
    const { operation, service, entry } = asked
    const limit = operation?.text?.limit ?? operation?.bodyLimit ?? 'bodyBytes'
    const bytes = Number(entry.request.headers['content-length'] ?? 0) || null
    return {
      sentences: [
        `The operation reads at most ${service.limits[limit]} bytes${bytes === null ? '' : `, and the request has ${bytes}`}.`,
        `Send less, or create the service with a larger \`limits.${limit}\`.`,
      ],
      facts: { limit: `limits.${limit}`, most_bytes: service.limits[limit], content_length: bytes },
    }
  },

  async content_type_refused(asked) {
    const { operation, entry } = asked
    const type = entry.request.headers['content-type'] ?? null
    const wanted = operation?.text?.type ?? 'application/json'
    return {
      sentences: [
        `The body was sent as ${type ?? 'no media type'}. The operation reads ${wanted}${operation?.text ? '' : ' and application/x-www-form-urlencoded'}.`,
      ],
      facts: {
        content_type: type,
        accepted: operation?.text ? [wanted] : [wanted, 'application/x-www-form-urlencoded'],
      },
      fix: corrected(asked, { headers: { 'content-type': wanted } }),
    }
  },

  async cursor_invalid(asked) {
    const after = sent(asked, 'after')
    return {
      sentences: [
        `\`after\` was ${sentValueText(after)}, which is not the id of an entry of this list for this caller.`,
      ],
      facts: { after: after ?? null, caller: asked.entry.principal },
      fix: corrected(asked, { query: { after: undefined } }),
    }
  },
} satisfies Explainers

const isJsonArrayText = (text: string): boolean => text.trimStart().startsWith('[')

/** Why a text is no JSON. */
function slipIn(text: string): string {
  try {
    JSON.parse(text)
    return 'It is JSON, and no object.'
  } catch (error) {
    return `${error instanceof Error ? error.message : 'It is no JSON'}.`
  }
}

/** The object that a broken JSON text was meant to be, if only a last comma or a list around it is wrong. */
function repair(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text.replace(/,(\s*[}\]])/g, '$1'))
    const object = Array.isArray(value) && value.length === 1 ? value[0] : value
    return isFields(object) ? object : undefined
  } catch {
    return undefined
  }
}

const sentValueText = (value: unknown): string =>
  value === REDACTED ? 'a value that the journal does not keep' : (JSON.stringify(value) ?? 'absent')

function valueAt(asked: RefusedRequest, field: string): unknown {
  const [name = '', ...rest] = field.split('.')
  return rest.reduce<unknown>(
    (value, part) => (isFields(value) || Array.isArray(value) ? (value as Record<string, unknown>)[part] : undefined),
    sent(asked, name),
  )
}

/** The request with the one field corrected, if its right name or value is certain. */
function correctedField(asked: RefusedRequest, field: string, value: unknown): Fix | undefined {
  const error = responseText(asked, 'error') ?? ''
  const [, meant] = /Did you mean "([^"]+)"/.exec(error) ?? []
  if (field.includes('.')) return undefined
  const isInQuery = field in asked.query
  if (meant !== undefined)
    return corrected(
      asked,
      isInQuery
        ? { query: { [field]: undefined, [meant]: String(value) } }
        : { body: { [field]: undefined, [meant]: value } },
    )
  const right = otherType(value, error)
  return right === undefined || isInQuery ? undefined : corrected(asked, { body: { [field]: right } })
}

/** The same value as the type that the error asks for. */
function otherType(value: unknown, error: string): unknown {
  if (
    typeof value === 'string' &&
    value.trim() !== '' &&
    /must be (a number|an integer)/.test(error) &&
    Number.isFinite(Number(value))
  )
    return Number(value)
  if (typeof value === 'number' && /must be a? ?(string|text)/.test(error)) return String(value)
  return undefined
}

async function decimalsOf(asked: RefusedRequest): Promise<number> {
  const [, said] = /at most (\d+) decimals/.exec(responseText(asked, 'error') ?? '') ?? []
  if (said !== undefined) return Number(said)
  const dq = sent(asked, 'dq')
  const [first] = await asked.tx.find(digitalQuantities, { index: 'byNumber', prefix: [], limit: 1 })
  const named = typeof dq === 'string' ? await asked.tx.get(digitalQuantities, dq) : undefined
  return (named ?? first)?.decimals ?? 0
}

const looksLikeCard = (name: string, value: unknown): boolean =>
  value === REDACTED || /card|number|cvc|cvv|exp/i.test(name) || /(?:\d[ -]?){13,19}/.test(String(value))
