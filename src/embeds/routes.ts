import { wantsJson } from '../http/html.js'
import { reply } from '../http/reply.js'
import { route } from '../http/route.js'
import { HashPath, z } from '../http/schema.js'
import { problem } from '../problem.js'
import { digest } from '../secrets.js'
import script from './element.client.ts?script'
import { embedPage, unknownPage } from './embed.js'
import { embedOf } from './offer.js'

export const embedPayment = route({
  id: 'embedPayment',
  summary: 'The payment embed, a page for an iframe: shows the price, signs the payer in, pays, and tells the page.',
  evidence: 'observed',
  method: 'GET',
  path: '/embed/:hash',
  versions: ['v4', 'v2'],
  auth: ['none'],
  shareable: true,
  params: HashPath,
  // Whatever a page sends here is shown to people: what does not fit is dropped, not refused.
  query: z.object({
    theme: z.optional(z.string()),
    style: z.optional(z.string()),
    leading: z.optional(z.string()),
    middle: z.optional(z.string()),
    trailing: z.optional(z.string()),
    decimalPoints: z.optional(z.string()),
  }),
  produces: ['text/html'],
  errors: ['not_found'],
  async read(tx, { params, query, headers }, { sandbox }) {
    const theme = query.theme === 'light' || query.theme === 'dark' ? query.theme : undefined
    const embed = await embedOf(tx, { ...query, hash: params.hash, theme, sandbox: sandbox !== undefined })
    if (embed) return embedPage(embed)
    if (wantsJson(headers)) throw problem('not_found')
    return unknownPage(theme)
  },
})

const etag = `"${digest(script).slice(0, 32)}"`

export const readElementScript = route({
  id: 'readElementScript',
  summary: 'The payment element: an ES module that sets the global loadMicroPayments.',
  evidence: 'observed',
  method: 'GET',
  path: '/micropay.js',
  auth: ['none'],
  shareable: true,
  produces: ['text/javascript'],
  async handle({ headers }) {
    if (headers.get('if-none-match')?.includes(etag)) return reply({ status: 304, headers: { etag }, body: null })
    return reply({ headers: { 'content-type': 'text/javascript; charset=utf-8', etag }, body: script })
  },
})

export default [embedPayment, readElementScript]
