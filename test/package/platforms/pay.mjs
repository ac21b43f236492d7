import { client } from 'farthing/client'

/**
 * From a new account to a payment that validates once.
 *
 * @param {Parameters<typeof client>[0]} target A service, or the URL of one.
 * @param {Parameters<typeof client>[1]} [options]
 * @returns {Promise<string>} `paid 0.25, validated, nonce_used`
 */
export async function pay(target, options) {
  const anyone = client(target, options)
  const account = await anyone.accounts.create()
  const seller = anyone.as(account.secrets[1])
  const [dq] = (await anyone.digitalQuantities.list()).digital_quantities
  const { id } = await seller.twins.create({ dq })
  const { hash } = await seller.commodities.create({ descriptor: 'NEWS.ARTICLE', dq, cost: 0.25, twin_id: id })
  const { secrets } = await seller.users.create({ email: `reader-${id}@example.test` })
  const reader = anyone.as(secrets[0])
  const [wallet] = (await reader.twins.list()).twins
  await anyone.twins.fund({ hostname: wallet.hostname, amount: 1 })
  const { nonce, amount } = await reader.payments.create(hash, { cost: 0.25 })
  const { valid } = await seller.payments.validate(hash, { nonce })
  const again = await seller.payments.validate.try(hash, { nonce })
  return `paid ${amount}, ${valid ? 'validated' : 'not validated'}, ${again.ok ? 'validated again' : again.refusal.code}`
}
