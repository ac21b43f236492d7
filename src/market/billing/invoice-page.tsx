import { cardStyle } from '../../http/pages/card-style.js'
import { inline, page } from '../../http/pages/html.js'
import { colorsOf } from '../../http/pages/palette.js'
import { Coin } from '../../http/pages/parts.js'
import type { Reply } from '../../http/reply.js'
import { invoiceText } from './invoice.js'
import type { InvoiceRow } from './invoice-row.js'

export function invoicePage(invoice: InvoiceRow, issuer: string): Reply {
  const { title, status, isSettled, from, to, facts, lines, total } = invoiceText(invoice, issuer)
  return page({
    title,
    styles: [cardStyle, invoiceStyle],
    body: (
      <main>
        <Coin />
        <header>
          <h1>{title}</h1>
          <p class={isSettled ? 'status settled' : 'status'}>{status}</p>
        </header>
        <div class="parties">
          <Party heading="From" lines={from} />
          <Party heading="Billed to" lines={to} />
        </div>
        <dl>
          {facts.map(([name, value]) => (
            <div>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        <table>
          <thead>
            <tr>
              <th scope="col">What for</th>
              <th scope="col" class="amount">
                Amount
              </th>
            </tr>
          </thead>
          <tbody>
            {lines.map(({ description, period, amount }) => (
              <tr>
                <td>
                  {description}
                  <span class="muted">{period}</span>
                </td>
                <td class="amount">{amount}</td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">Total</th>
              <td class="amount">{total}</td>
            </tr>
          </tfoot>
        </table>
      </main>
    ),
  })
}

const Party = ({ heading, lines }: { heading: string; lines: readonly string[] }) => (
  <section>
    <h2>{heading}</h2>
    {lines.map((line) => (
      <p dir="auto">{line}</p>
    ))}
  </section>
)

export const invoiceStyle = inline(`
main { width: min(720px, 100%); padding: 40px; }
.coin + header { margin-top: 16px; }
header { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: 4px 24px; }
.status { font-weight: 600; }
.settled { color: var(--good); }
.parties { display: flex; flex-wrap: wrap; gap: 20px 48px; margin-top: 28px; }
section { flex: 1 1 220px; min-width: 0; }
h2, dt, thead th { color: var(--muted); font-size: 14px; font-weight: 600; }
section p { min-height: 1em; }
dl { display: flex; flex-wrap: wrap; gap: 12px 40px; margin-top: 28px; }
dd { margin: 0; }
table { width: 100%; margin-top: 28px; border-collapse: collapse; }
th, td { padding: 12px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
td .muted { display: block; }
.amount { padding-left: 24px; text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
tfoot th, tfoot td { border-bottom: 0; font-size: 20px; font-weight: 650; }
@media (max-width: 480px) { body { padding: 0; place-items: stretch; } main { padding: 24px 20px; border: 0; border-radius: 0; } }
@media print {
  :root { color-scheme: light; ${colorsOf('print')} }
  .coin { display: none; }
  body { display: block; min-height: 0; padding: 0; font-size: 12pt; }
  main { width: 100%; padding: 0; border: 0; border-radius: 0; }
  tr, section { break-inside: avoid; }
}
`)
