import { client, Refusal } from 'farthing/client'
import { Hono } from 'hono'
import { articlePage } from './article-page.js'
import { articles } from './articles.js'

/** The variables of the worker. `farthing exec` sets these names for a sandbox. */
export interface Variables {
  FARTHING_URL: string
  FARTHING_CLIENT_ID: string
  FARTHING_CLIENT_SECRET: string
  FARTHING_PUBLIC_SECRET: string
}

const app = new Hono<{ Bindings: Variables }>()

app.get('/articles/:slug', (c) => {
  const article = articles.get(c.req.param('slug'))
  if (!article) return c.notFound()
  return c.html(articlePage(article, { serviceUrl: c.env.FARTHING_URL, publicSecret: c.env.FARTHING_PUBLIC_SECRET }))
})

app.post('/articles/:slug', async (c) => {
  const article = articles.get(c.req.param('slug'))
  if (!article) return c.notFound()
  const { nonce, timestamp } = await c.req.json()
  try {
    // This spends the nonce, so the same payment never counts twice. The hash is ours, not the reader's.
    await sellerOf(c.env).payments.validate(article.hash, { nonce, timestamp })
  } catch (error) {
    // The payment does not count. Every other status is a mistake of ours, such as wrong credentials.
    if (!(error instanceof Refusal && error.status === 400)) throw error
    return c.json({ code: error.code, error: error.message }, 402)
  }
  return c.json({ story: article.story })
})

const sellers = new WeakMap<Variables, ReturnType<typeof newSeller>>()

/** The client is kept, so that it gets one token for many requests. */
function sellerOf(variables: Variables) {
  const seller = sellers.get(variables) ?? newSeller(variables)
  sellers.set(variables, seller)
  return seller
}

const newSeller = ({ FARTHING_URL, FARTHING_CLIENT_ID, FARTHING_CLIENT_SECRET }: Variables) =>
  client(FARTHING_URL).as({ client_id: FARTHING_CLIENT_ID, client_secret: FARTHING_CLIENT_SECRET })

export default app
