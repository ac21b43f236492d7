import type { ArmedFault } from '../../src/sandbox/onion/fault.js'
import { call } from './api.js'
import { Code } from './parts.js'
import { act, faults } from './state.js'

interface Switch {
  readonly title: string
  readonly what: string
  readonly fault: { readonly id: string; readonly [field: string]: unknown }
}

/** What breaks in production, each as one fault. */
const switches: readonly Switch[] = [
  {
    title: 'The answer to a payment is lost',
    what: 'The payment is made, but the client never hears of it. Does it pay twice?',
    fault: { id: 'lost-payment', match: { operation_id: 'createPayment' }, at: 'after_commit', do: { drop: true } },
  },
  {
    title: 'The price changes before the payment',
    what: 'Each payment first makes its article 10% dearer, for good. Does your page show the new price, and ask again?',
    fault: { id: 'changed-price', match: { operation_id: 'createPayment' }, at: 'before', do: { raise_price: 10 } },
  },
  ...(
    [
      [
        'success_false',
        'An x402 settlement says that it failed',
        'The amount has moved. Does your shop deliver, or ask?',
      ],
      ['settlement_pending', 'An x402 settlement is pending', 'The next settle of the same payment has the receipt.'],
      ['settlement_pending_always', 'An x402 settlement stays pending', 'The amount has moved. When do you give up?'],
      ['wrong_payer', 'An x402 receipt names another payer', 'Does your shop compare it?'],
      ['other_receipt', "An x402 receipt is another payment's", 'Does your shop accept a transaction twice?'],
      ['late', 'An x402 receipt comes too late', 'The clock moves behind validBefore before the answer.'],
    ] as const
  ).map(([x402, title, what]) => ({
    title,
    what,
    fault: { id: `x402-${x402}`, match: { operation_id: 'settleX402Payment' }, at: 'after_commit', do: { x402 } },
  })),
  {
    title: 'An x402 offer is expensive, behind another one',
    what: 'The first offer of a 402 is on Solana, and the next asks for 50 times the price. Does your agent look at both?',
    fault: {
      id: 'x402-expensive_offer',
      match: { path: '/v4/catalog/items/*/call' },
      at: 'after_commit',
      do: { x402: 'expensive_offer' },
    },
  },
  {
    title: 'The second 402 of an item asks for more',
    what: 'Each call that carries a payment first makes its item 50% dearer, for good. Does your agent sign again?',
    fault: {
      id: 'x402-higher-price',
      match: { path: '/v4/catalog/items/*/call' },
      at: 'before',
      do: { raise_price: 50 },
    },
  },
  {
    title: 'Every third request gets a 503',
    what: 'Nothing happens, and a retry helps.',
    fault: { id: 'third-503', match: { path: '/v4/*' }, at: 'before', do: { status: 503 }, every: 3 },
  },
  {
    title: 'Everything is slow',
    what: 'Each answer takes two more seconds.',
    fault: { id: 'slow', match: { path: '/v4/*' }, at: 'before', do: { delay_ms: 2000 } },
  },
  {
    title: 'The card processor is down',
    what: 'Top-ups and invoices cannot be charged. Cards that decline are test values: see Connect.',
    fault: { id: 'card', match: { port: 'card' }, at: 'before', do: { error: 'ECONNREFUSED' } },
  },
  {
    title: 'The mail server is down',
    what: 'No code and no receipt leaves. Addresses with +bounce@ bounce without it.',
    fault: { id: 'mail', match: { port: 'mail' }, at: 'before', do: { error: 'EENVELOPE' } },
  },
  {
    title: 'Webhooks do not arrive',
    what: 'Deliveries fail, and are tried again later.',
    fault: { id: 'webhook', match: { port: 'webhook' }, at: 'before', do: { error: 'ECONNREFUSED' } },
  },
  {
    title: 'Webhooks arrive twice',
    what: 'Does your endpoint look at the id?',
    fault: { id: 'webhook-twice', match: { port: 'webhook' }, at: 'after_commit', do: { duplicate: true } },
  },
  {
    title: 'The disk is full',
    what: 'Nothing can be stored.',
    fault: { id: 'disk', match: { port: 'storage' }, at: 'before', do: { error: 'ENOSPC' } },
  },
]

const isOther = ({ id }: ArmedFault) => !switches.some(({ fault }) => fault.id === id)

/** Switches for what goes wrong in production. Each shows how often it happened, and the JSON that does the same. */
export function Break() {
  return (
    <section aria-label="Break it">
      <h2>Break it</h2>
      <ul class="switches">
        {switches.map(({ title, what, fault }) => {
          const armed = faults.value.find(({ id }) => id === fault.id)
          return (
            <li key={fault.id}>
              <label>
                <input
                  type="checkbox"
                  checked={armed !== undefined}
                  onChange={() => (armed ? disarm(armed) : arm({ title, what, fault }))}
                />{' '}
                <strong>{title}</strong>
                {armed && <span class="tag bad">{fired(armed)}</span>}
              </label>
              <p class="muted">{what}</p>
              <details>
                <summary>The same in a test</summary>
                <Code>{`await service.sandbox.faults.arm(${JSON.stringify(fault, null, 2)})`}</Code>
              </details>
            </li>
          )
        })}
        {faults.value.filter(isOther).map((armed) => (
          <li key={armed.id}>
            <label>
              <input type="checkbox" checked onChange={() => disarm(armed)} /> <strong>{armed.id}</strong>
              <span class="tag bad">{fired(armed)}</span>
            </label>
            <details>
              <summary>As JSON</summary>
              <Code>{JSON.stringify(armed, null, 2)}</Code>
            </details>
          </li>
        ))}
      </ul>
    </section>
  )
}

const fired = ({ fired }: ArmedFault): string => (fired === 1 ? 'happened once' : `happened ${fired} times`)

const arm = ({ title, fault }: Switch) => act(`${title}: armed.`, call('POST', '_sandbox/faults', { body: fault }))

const disarm = ({ id }: ArmedFault) => act('Disarmed.', call('DELETE', `_sandbox/faults/${id}`))
