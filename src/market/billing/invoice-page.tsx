import { cardStyle } from '../../http/pages/card-style.js'
import { page } from '../../http/pages/html.js'
import type { Reply } from '../../http/reply.js'
import type { InvoiceRow } from './invoice-row.js'
import { invoiceStyle } from './invoice-style.js'
import { invoiceText } from './invoice-text.js'

/** An invoice as a page for screen and paper. It needs no script. */
export function invoicePage(invoice: InvoiceRow, issuer: string): Reply {
  const { title, status, isSettled, from, to, facts, lines, total } = invoiceText(invoice, issuer)
  return page({
    title,
    styles: [cardStyle, invoiceStyle],
    body: (
      <main>
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
