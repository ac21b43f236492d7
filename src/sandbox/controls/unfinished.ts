import type { ServiceContext } from '../../http/context.js'
import { findEnded, instanceIn } from '../../jobs/claims/claim.js'
import { type FlowClaims, takeOverAll } from '../../jobs/flows/takeover.js'
import { checkoutAttempts } from '../../market/checkout/attempt.js'
import { settleImports } from '../../payments/binder-imports/settle.js'
import { heldPayments } from '../../payments/payments/held-payment.js'
import type { Reader } from '../../storage/storage.js'

/** Ends what processes left unfinished that have ended. With `alone`, no other process uses the storage. */
export async function endUnfinished(service: ServiceContext, alone: boolean): Promise<void> {
  const ended = alone ? undefined : await findEnded(await service.storage.read(tokensOfAll), service)
  const isEnded = (token: string) => ended?.has(instanceIn(token)) ?? true
  if (ended?.size !== 0)
    await service.storage.write(async (tx) => {
      await takeOverAll(tx, checkoutAttempts, service, isEnded)
      await takeOverAll(tx, heldPayments, service, isEnded)
    })
  await settleImports(service, alone)
}

async function tokensOfAll(tx: Reader): Promise<string[]> {
  return [...(await tokensOf(tx, checkoutAttempts)), ...(await tokensOf(tx, heldPayments))]
}

async function tokensOf<Row>(tx: Reader, { all, tokenOf }: FlowClaims<Row>): Promise<string[]> {
  const tokens: string[] = []
  for await (const row of all(tx)) tokens.push(tokenOf(row) ?? '')
  return tokens
}
