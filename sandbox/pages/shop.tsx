import { readFields } from '../../src/http/fields/body.js'
import * as z from '../../src/http/fields/zod.js'
import { inline, page } from '../../src/http/pages/html.js'
import { Coin } from '../../src/http/pages/parts.js'
import { type Reply, reply } from '../../src/http/reply.js'
import type { Demo } from '../seed/demo.js'
import { article, restOfArticle } from '../shop/article.js'
import { bearerHeader, callService, type Seller, validatePayment } from '../shop/seller.js'
import type { SandboxPages } from './pages.js'
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
      <Coin />
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

/** In bytes. Every proof of payment is shorter. */
const LIMIT = 10_000

/** The shop's server: answers with the rest of the article if the service validates the payment. */
export async function unlock(options: SandboxPages, request: Request): Promise<Reply<object>> {
  const { nonce, timestamp } = await readFields(
    { request, headers: request.headers, source: {} },
    { limit: LIMIT, isSnapshot: false },
  )
  const { status, body } = await validatePayment(options, options.demo.commodities.article, { nonce, timestamp })
  if (status !== 200) return reply({ status, value: body })
  return reply({ value: { paragraphs: restOfArticle, payment: body.payment } })
}

/** Answers the endpoint of the demo's item: the paragraphs that contain all the words of `?words=`. */
export async function archive(_options: SandboxPages, { url }: Request): Promise<Reply<object>> {
  const words = (new URL(url).searchParams.get('words') ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const found = [...article.opening, ...restOfArticle].filter((text) =>
    words.every((word) => text.toLowerCase().includes(word)),
  )
  return reply({ value: { headline: article.headline, paragraphs: found } })
}

export type DemoState = { readonly article: Sold; readonly song: Sold }

const Sold = z.object({ cost: z.number(), descriptor: z.string() })

type Sold = Readonly<z.output<typeof Sold>>

/** Reads the demo's state from the service. Returns null if the service started with another seed. */
export async function readDemoState(seller: Seller): Promise<DemoState | null> {
  const { account, commodities } = seller.demo
  if ((await bearerHeader(seller, 'account', account)) === undefined) return null
  const [article, song] = await Promise.all(
    [commodities.article, commodities.song].map((hash) => callService(seller, 'GET', `/v4/commodity/${hash}`)),
  )
  if (article?.status !== 200 || song?.status !== 200) return null
  return { article: Sold.parse(article.body), song: Sold.parse(song.body) }
}
