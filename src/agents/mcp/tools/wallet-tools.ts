import { readAgentSettings } from '../../../consent/approvals/settings.js'
import { grantedAccount } from '../../../consent/oidc/connection.js'
import { Amount, TransferShape, z } from '../../../http/fields/schema.js'
import { quantityOf } from '../../../money/digital-quantities/digital-quantity.js'
import { payingTwin, showTwin, type TwinRow } from '../../../money/twins/twin.js'
import { agentTwinOf } from '../../../payments/payments/payer.js'
import { createTransfer } from '../../../payments/transfers/create-transfer.js'
import type { Reader } from '../../../storage/storage.js'
import { givenApproval } from './given-approval.js'
import { amount, approvalId, dq, tool } from './tool.js'

const balance = z.object({ dq: z.string(), name: z.string(), shortcode: z.string(), amount: Amount })
const wallet = { hostname: z.string(), balances: z.array(balance) }
const Wallet = z.object(wallet)

/** Agents pay in the digital quantity, so they read it too, whatever unit other callers see. */
async function walletOf(tx: Reader, twin: TwinRow) {
  const shown = await showTwin(tx, twin, { unit: 'quantity' })
  const balances = []
  for (const [dq, amount] of Object.entries(shown.balances)) {
    const { name, shortcode } = await quantityOf(tx, dq)
    balances.push({ dq, name, shortcode, amount })
  }
  return { hostname: twin.hostname, balances }
}

const agentWalletInfo = tool({
  name: 'agent_wallet_info',
  title: 'Agent wallet',
  description:
    "Read the agent wallet that you pay from: its address, its balances, how much you may spend without approval (approval_threshold, by digital quantity; default: nothing), and the business account that the user granted you, if any. If `choosable` is true, choose_account asks for one. Check this before you buy. transfer_to_agent fills the wallet from the user's own wallet.",
  input: z.object({}),
  output: z.object({
    ...wallet,
    approval_threshold: z.record(z.string(), Amount),
    account: z.nullable(z.object({ id: z.int(), name: z.nullable(z.string()) })),
    choosable: z.boolean(),
  }),
  hints: { reads: true },
  call: (_, { agent, service }) =>
    service.storage.read(async (tx) => ({
      ...(await walletOf(tx, await agentTwinOf(tx, agent))),
      ...(await readAgentSettings(tx, agent.user_id)),
      ...(await grantedAccount(tx, agent)),
    })),
})

const checkWalletBalance = tool({
  name: 'check_wallet_balance',
  title: 'Balances',
  description: "Read the balances of the user's own wallet (primary) and of the wallet that you pay from (agent).",
  input: z.object({}),
  output: z.object({ primary: Wallet, agent: Wallet }),
  hints: { reads: true },
  call: (_, { agent, service }) =>
    service.storage.read(async (tx) => ({
      primary: await walletOf(tx, await payingTwin(tx, agent.owner)),
      agent: await walletOf(tx, await agentTwinOf(tx, agent)),
    })),
})

const fundPrimaryWallet = tool({
  name: 'fund_primary_wallet',
  title: 'How to fund the wallet',
  description:
    "Explain how the user can add funds to their own wallet. You can't charge their card, so tell them these instructions. Then transfer_to_agent moves what you need to the wallet that you pay from.",
  input: z.object({}),
  output: z.object({
    ...wallet,
    top_up: z.object({ method: z.string(), url: z.string() }),
    instructions: z.array(z.string()),
  }),
  hints: { reads: true },
  call: (_, { agent, service }) =>
    service.storage.read(async (tx) => {
      const primary = await walletOf(tx, await payingTwin(tx, agent.owner))
      const url = `${service.baseUrl}/v4/twin/${primary.hostname}/topup`
      return {
        ...primary,
        top_up: { method: 'POST', url },
        instructions: [
          `The user tops up the wallet by card: signed in, they POST an amount and a payment_method_id to ${url}.`,
          `Anyone can send value to its address, ${primary.hostname}, or to the email of the user.`,
        ],
      }
    }),
})

const transferToAgent = tool({
  name: 'transfer_to_agent',
  title: 'Fill the agent wallet',
  description:
    "Move value from the user's own wallet to the wallet that you pay from. The user must approve each transfer. Without approval, this returns the arguments for request_approval.",
  input: z.object({
    amount: amount('How much, in the digital quantity. For US dollars, 2.5 is two and a half dollars.'),
    dq: z.optional(dq),
    approval_id: z.optional(approvalId),
  }),
  output: TransferShape,
  hints: { spends: true },
  async call({ amount, dq, approval_id }, call) {
    const { agent, service } = call
    const approvalId = await givenApproval(call, approval_id)
    return service.storage.write(async (tx) => {
      const { hostname: address } = await agentTwinOf(tx, agent)
      const right = { by: 'agent', agent, approvalId } as const
      return createTransfer(tx, { sender: agent.owner, address, amount, dq, right, at: service.clock.now() }, service)
    })
  },
})

export default [agentWalletInfo, checkWalletBalance, fundPrimaryWallet, transferToAgent]
