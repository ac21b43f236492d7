import { base64url } from '../../base/encoding.js'
import { digest, randomHex } from '../../base/secrets.js'
import { normalEmail } from '../../base/text/email.js'
import { codesIn, outbox } from '../../jobs/outbox/outbox.js'
import { payments } from '../../payments/payments/payment.js'
import type { Writer } from '../../storage/storage.js'
import { type CallDraft, filledTemplate, type Secret, secretsIn } from './call-draft.js'
import { freshCredentials } from './credentials.js'
import { notReplayable } from './not-replayable.js'
import type { ReplayStage } from './stage.js'

/** What the repetition of a request needs that the journal does not have. */
export interface FreshSecrets {
  /** Headers that identify the caller. */
  readonly headers: Readonly<Record<string, string>>
  readonly plainText: (secret: Secret) => string
}

/** Makes the credentials, nonces and codes of a request anew. Throws `not_replayable`, and then nothing was changed. */
export async function freshSecrets(draft: CallDraft, stage: ReplayStage): Promise<FreshSecrets> {
  const { service } = stage
  const secrets = secretsIn(draft)
  for (const secret of secrets) if (!remade(draft, secret)) throw unknownSecret(secret)
  const { headers, made } = await service.storage.write(async (tx) => {
    const values = new Map<Secret, string>()
    for (const secret of secrets) {
      const value = await madeInPlace(tx, { draft, secret, stage })
      if (value !== undefined) values.set(secret, value)
    }
    return { headers: await freshCredentials(tx, draft.caller, service), made: values }
  })
  const code = secrets.find((secret) => remade(draft, secret) === 'code')
  if (code) made.set(code, await mailedCode({ draft, code, headers }, stage))
  return {
    headers,
    plainText: (secret) => {
      const value = made.get(secret)
      if (value === undefined) throw unknownSecret(secret)
      return value
    },
  }
}

export const unknownSecret = ({ field }: Secret) =>
  notReplayable(field, 'The journal does not keep secrets, and this one cannot be made anew.')

/** How a secret is made anew. Undefined if it cannot be. */
export function remade({ entry }: CallDraft, { name }: Secret): 'nonce' | 'code' | 'device' | undefined {
  const { operation_id: operation } = entry
  if (name === 'nonce' && (operation === 'validatePayment' || operation === 'readPaymentNonce')) return 'nonce'
  if (name === 'code' && operation === 'verifySessionCode') return 'code'
  return name === 'token' && operation === 'createRegistration' ? 'device' : undefined
}

async function madeInPlace(
  tx: Writer,
  { draft, secret, stage }: { draft: CallDraft; secret: Secret; stage: ReplayStage },
): Promise<string | undefined> {
  const kind = remade(draft, secret)
  if (kind === 'nonce') return freshNonce(tx, { draft, secret, stage })
  return kind === 'device' ? `replayed-${randomHex(stage.service.random, 16)}` : undefined
}

/**
 * Gives a payment a new nonce. Outside of a fork, only a payment whose nonce is worth nothing gets one, because its holder
 * has the old one.
 */
export async function freshNonce(
  tx: Writer,
  {
    draft: { entry },
    secret,
    stage,
  }: { draft: CallDraft; secret: Secret; stage: Pick<ReplayStage, 'service' | 'isFork'> },
): Promise<string> {
  const { service, isFork } = stage
  const nonce = base64url(service.random.bytes(32))
  if (entry.code === 'nonce_unknown') return nonce
  const id = Number(/"payment":\{"id":(\d+)/.exec(entry.response.body ?? '')?.[1] ?? Number.NaN)
  const payment = Number.isNaN(id) ? undefined : await tx.get(payments, id)
  if (!payment) throw notReplayable(secret.field, 'The answer does not say which payment it belonged to.')
  const isSpent = payment.nonce_used_at !== null || (payment.nonce_expires_at ?? 0) <= service.clock.now()
  if (!isFork && !isSpent) throw notReplayable(secret.field, 'Its holder may still use it. Replay in a fork.')
  tx.put(payments, { ...payment, nonce_digest: digest(nonce) })
  return nonce
}

/** Requests a code in the session of the call, and reads it in the outbox. */
async function mailedCode(
  { draft, code, headers }: { draft: CallDraft; code: Secret; headers: FreshSecrets['headers'] },
  stage: ReplayStage,
): Promise<string> {
  const { service } = stage
  const text = draft.body === null ? '' : filledTemplate(draft.body, () => '')
  const email = emailIn(text)
  if (email === undefined) throw unknownSecret(code)
  const wrong = draft.entry.code === 'code_wrong'
  const sent = await stage.send({
    method: 'POST',
    path: '/v4/session/code',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ email }),
  })
  if (sent.status >= 300) throw notReplayable(code.field, `A new code is refused with status ${sent.status}.`)
  const [mail] = await service.storage.read((tx) =>
    tx.find(outbox, { index: 'byToAndKind', prefix: [email, 'mail'], limit: 1, reverse: true }),
  )
  const mailed = mail && codesIn(mail)[0]
  if (mailed === undefined) throw unknownSecret(code)
  return wrong ? String((Number(mailed) + 1) % 1_000_000).padStart(6, '0') : mailed
}

export function emailIn(text: string): string | undefined {
  try {
    const fields: unknown = JSON.parse(text)
    const email = typeof fields === 'object' && fields !== null && 'email' in fields ? fields.email : undefined
    return typeof email === 'string' ? normalEmail(email) : undefined
  } catch {
    return new URLSearchParams(text).get('email') ?? undefined
  }
}
