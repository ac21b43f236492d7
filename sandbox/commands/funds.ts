import { Refusal } from '../refusal.js'
import {
  callControls,
  type Outside,
  type RunningService,
  runningService,
  type ServiceFlags,
} from './running-service.js'

/** Issues value to a twin, a person or an address of a running sandbox, and prints what it holds then. Throws `Refusal`. */
export async function fund(
  { whom, amount }: { readonly whom: string; readonly amount: string },
  { dq, ...flags }: ServiceFlags & { readonly dq?: string },
  outside: Outside,
): Promise<void> {
  const sum = Number(amount)
  if (!/^\d+(?:\.\d+)?$/.test(amount)) throw new Refusal(`the amount must be a number, not "${amount}"`)
  // A number of JavaScript with more digits is another one than was written.
  if (amount.replace(/\D/g, '').replace(/^0+/, '').length > 15)
    throw new Refusal(`the amount must have at most 15 digits, unlike "${amount}"`)
  const named = whom.includes('@') ? { email: whom } : /^0x/i.test(whom) ? { address: whom } : { hostname: whom }
  const running = runningService(flags, outside)
  const { twins } = running.service
  const funded = await callControls(running, () =>
    twins.fund({ ...named, amount: sum, ...(dq !== undefined && { dq }) }),
  )
  const unit = (await quantitiesOf(running))[funded.dq]?.shortcode ?? funded.dq
  outside.print(`${funded.hostname} holds ${funded.balance} ${unit}`)
}

/** Prints the lines for the `.env` of an x402 shop and its buyer, with wallets of a running sandbox. Throws `Refusal`. */
export async function x402Env(flags: ServiceFlags, outside: Outside): Promise<void> {
  const running = runningService(flags, outside)
  const { kinds } = await callControls(running, () => running.service.x402Kinds.list())
  const { wallets } = await callControls(running, () => running.service.wallets.list())
  const quantities = Object.entries(await quantitiesOf(running))
  const [usdc = ''] = quantities.find(([, { shortcode }]) => shortcode === 'USDC') ?? []
  const held = ({ balances }: (typeof wallets)[number]) => balances[usdc] ?? 0
  const known = wallets.filter((wallet) => wallet.private_key !== undefined).sort((a, b) => held(b) - held(a))
  const [payer] = known
  const payee = known.at(-1)
  if (!payer || !payee)
    throw new Refusal(`${running.url} has no wallet whose key it knows: link one with POST /_sandbox/wallets`)
  const network = kinds.find(({ x402Version }) => x402Version === 1) ?? kinds[0]
  const variables = {
    FACILITATOR_URL: `${running.url}/x402`,
    NETWORK: network?.network,
    EVM_PRIVATE_KEY: payer.private_key,
    PRIVATE_KEY: payer.private_key,
    EVM_ADDRESS: payee.address,
    ADDRESS: payee.address,
    PAY_TO: payee.address,
  }
  for (const [name, value] of Object.entries(variables)) outside.print(`${name}=${value}`)
}

const quantitiesOf = async (running: RunningService) =>
  (await callControls(running, () => running.service.digitalQuantities.list())).metadata
