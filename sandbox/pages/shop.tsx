import { inline, page } from '../../src/http/pages/html.js'
import type { Reply } from '../../src/http/reply.js'
import type { Demo } from '../seed/demo.js'
import { article } from '../shop/article.js'
import { pagesStyle, shopStyle } from './pages-style.js'
import script from './shop.client.ts?script'

const shopScript = inline(script)

/** A newspaper page with an article to pay for. */
export const shopPage = (demo: Demo): Reply =>
  page({
    title: `${article.headline} - ${demo.account.name}`,
    styles: [pagesStyle, shopStyle],
    modules: ['/micropay.js'],
    script: shopScript,
    policy: { 'connect-src': "'self'", 'frame-src': "'self'" },
    body: <ShopPage demo={demo} />,
  })

const ShopPage = ({ demo }: { demo: Demo }) => (
  <main data-public-secret={demo.account.public_secret} data-hash={demo.commodities.article}>
    <header class="masthead">
      <p>{demo.account.name}</p>
    </header>
    <article class="locked">
      <p class="kicker">{article.kicker}</p>
      <h1>{article.headline}</h1>
      <p class="standfirst">{article.standfirst}</p>
      <div class="text">
        {article.opening.map((paragraph) => (
          <p>{paragraph}</p>
        ))}
        <div id="rest" tabindex={-1} hidden />
      </div>
      <Offer demo={demo} />
      <p id="receipt" class="receipt muted small" role="status" hidden />
    </article>
    <footer class="small">
      <a href="/">The sandbox</a>
    </footer>
  </main>
)

const Offer = ({ demo }: { demo: Demo }) => (
  <aside class="offer" aria-labelledby="offer-title">
    <h2 id="offer-title">Read the rest</h2>
    <p class="muted">One article, one payment. No subscription.</p>
    <div id="pay" />
    <p id="alert" role="alert" />
    <p class="hint muted small">
      This is a sandbox: sign in as <code>{demo.payer.email}</code> with the code <code>{demo.payer.code}</code>.
    </p>
  </aside>
)
