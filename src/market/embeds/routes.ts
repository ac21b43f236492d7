import { Problem, type ProblemCode } from '../../base/problem.js'
import { digest } from '../../base/secrets.js'
import { HashPath, z } from '../../http/fields/schema.js'
import { wantsJson } from '../../http/pages/html.js'
import { type Reply, reply } from '../../http/reply.js'
import { type Call, defineRoutes, route } from '../../http/route.js'
import script from './browser/element.client.ts?script'
import { consentsOf } from './consent.js'
import { noticePage } from './embed.js'
import { paybackOffer, paymentOffer, personaOffer } from './offer.js'
import { paybackPage } from './payback.js'
import { paymentPage } from './payment.js'
import type { Theme } from './style.js'
import { verifyPage } from './verify.js'

const text = z.optional(z.string())

/** Whatever a page sends to an embed is shown to people: what does not fit is dropped, not refused. */
const wishes = { theme: text, style: text, leading: text, middle: text, trailing: text }

const themeOf = (theme: string | undefined): Theme | undefined =>
  theme === 'light' || theme === 'dark' ? theme : undefined

const lookOf = ({ theme, style }: { theme?: string | undefined; style?: string | undefined }) => ({
  theme: themeOf(theme),
  style,
})

const etag = `"${digest(script).slice(0, 32)}"`

export const embedRoutes = defineRoutes('embeds', {
  embedPayment: route({
    summary: 'The payment embed, a page for an iframe: shows the price, signs the payer in, pays, and tells the page.',
    evidence: 'observed',
    method: 'GET',
    path: '/embed/:hash',
    versions: ['v4', 'v2'],
    auth: ['none'],
    shareable: true,
    params: HashPath,
    query: z.object({ ...wishes, decimalPoints: text }),
    produces: ['text/html'],
    errors: ['not_found', 'payback_only', 'item_inactive'],
    read: (tx, call, { sandbox }) =>
      pageOr(
        {
          title: 'Not for sale',
          not_found: 'This is not for sale here.',
          payback_only: 'This is not for sale: it pays its readers.',
          item_inactive: 'This is not for sale now.',
        },
        call,
        async () => {
          const wish = { ...call.query, ...call.params, sandbox: sandbox !== undefined }
          return paymentPage(await paymentOffer(tx, wish), lookOf(call.query))
        },
      ),
  }),

  embedPayback: route({
    summary: "The payback embed: asks the reader's consent, pays them a commodity's price, and tells the page.",
    evidence: 'observed',
    method: 'GET',
    path: '/payback/embed/:hash',
    versions: ['v4', 'v3'],
    auth: ['none'],
    shareable: true,
    params: HashPath,
    query: z.object({ ...wishes, decimalPoints: text, consent: text }),
    produces: ['text/html'],
    errors: ['not_found', 'payback_refused'],
    read: (tx, call, { sandbox }) =>
      pageOr(
        {
          title: 'Not given',
          not_found: 'This is not given here.',
          payback_refused: 'This is for sale: it pays nobody.',
        },
        call,
        async () => {
          const wish = { ...call.query, ...call.params, sandbox: sandbox !== undefined }
          return paybackPage(await paybackOffer(tx, wish), consentsOf(call.query.consent), lookOf(call.query))
        },
      ),
  }),

  embedVerify: route({
    summary: 'The verify embed: proves to the page that its reader holds a delegate of a persona.',
    evidence: 'observed',
    method: 'GET',
    path: '/verify/embed/:hash',
    versions: ['v4', 'v3'],
    auth: ['none'],
    shareable: true,
    params: HashPath,
    query: z.object({ ...wishes, issueMin: text, issueMax: text }),
    produces: ['text/html'],
    errors: ['not_found'],
    read: (tx, call, { sandbox }) =>
      pageOr({ title: 'Nothing to verify', not_found: 'There is nothing to verify here.' }, call, async () => {
        const wish = { ...call.query, ...call.params, sandbox: sandbox !== undefined }
        return verifyPage(await personaOffer(tx, wish), lookOf(call.query))
      }),
  }),

  readElementScript: route({
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
  }),
})

/** What `show` gives, or where that is refused, and no program asked, a page that says so. */
async function pageOr(
  { title, ...notices }: { title: string } & Partial<Record<ProblemCode, string>>,
  { query, headers }: { query: { theme?: string | undefined }; headers: Call['headers'] },
  show: () => Promise<Reply>,
): Promise<Reply> {
  try {
    return await show()
  } catch (refused) {
    const notice = refused instanceof Problem ? notices[refused.code] : undefined
    if (notice === undefined || wantsJson(headers)) throw refused
    return noticePage((refused as Problem).status, title, notice, themeOf(query.theme))
  }
}
