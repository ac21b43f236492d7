import { Problem, type ProblemCode } from '../../base/problem.js'
import { digest } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'
import { HashPath, z } from '../../http/fields/schema.js'
import { wantsJson } from '../../http/pages/html.js'
import { type Reply, reply } from '../../http/reply.js'
import { type Call, defineRoutes, route } from '../../http/route.js'
import script from './browser/element.client.ts?script'
import { consentsOf, noticePage, paybackPage, paymentPage, verifyPage } from './embeds.js'
import { paybackOffer, paymentOffer, personaOffer } from './offer.js'
import type { Theme } from './style.js'

const text = z.optional(z.string())

/** Values that a page sends for display. Invalid ones are ignored, not refused. */
const displayFields = { theme: text, style: text, leading: text, middle: text, trailing: text }

const themeOf = (theme: string | undefined): Theme | undefined =>
  theme === 'light' || theme === 'dark' ? theme : undefined

const lookOf = ({ theme, style }: Partial<Record<'theme' | 'style', string | undefined>>) => ({
  ...{ theme: themeOf(theme), style },
})

const etag = `"${digest(script).slice(0, 32)}"`
const embed = { evidence: 'observed', method: 'GET', auth: ['none'], shareable: true, params: HashPath } as const

const requestOf = <Q extends object, P extends object>(
  { query, params }: { query: Q; params: P },
  { sandbox, cards, options: { balances } }: Pick<ServiceContext, 'sandbox' | 'cards' | 'options'>,
) => ({ ...query, ...params, sandbox: sandbox !== undefined, cards: cards !== undefined, balances })

export const embedRoutes = defineRoutes('embeds', {
  embedPayment: route({
    summary:
      'Open the payment embed, a page for an iframe. It shows the price, signs the payer in, pays, and informs the page.',
    ...embed,
    produces: ['text/html'],
    path: '/embed/:hash',
    versions: ['v4', 'v2'],
    query: z.object({ ...displayFields, decimalPoints: text }),
    errors: ['not_found', 'payback_only', 'item_inactive'],
    read: (tx, call, service) =>
      pageOr(
        {
          title: 'Not for sale',
          not_found: 'This is not for sale.',
          payback_only: 'This is not for sale. It pays its users.',
          item_inactive: 'This is not for sale at the moment.',
        },
        call,
        async () => paymentPage(await paymentOffer(tx, requestOf(call, service)), lookOf(call.query)),
      ),
  }),

  embedPayback: route({
    summary:
      "Open the payback embed. It asks the user for consent, pays them a commodity's price, and informs the page.",
    ...embed,
    produces: ['text/html'],
    path: '/payback/embed/:hash',
    versions: ['v4', 'v3'],
    query: z.object({ ...displayFields, decimalPoints: text, consent: text }),
    errors: ['not_found', 'payback_refused'],
    read: (tx, call, service) =>
      pageOr(
        {
          title: 'Not available',
          not_found: 'This is not available.',
          payback_refused: 'This is for sale. It does not pay its users.',
        },
        call,
        async () => {
          const request = requestOf(call, service)
          return paybackPage(await paybackOffer(tx, request), consentsOf(call.query.consent), lookOf(call.query))
        },
      ),
  }),

  embedVerify: route({
    summary: 'Open the verify embed. It proves to the page that its user has a delegate of a persona.',
    ...embed,
    produces: ['text/html'],
    path: '/verify/embed/:hash',
    versions: ['v4', 'v3'],
    query: z.object({ ...displayFields, issueMin: text, issueMax: text }),
    errors: ['not_found'],
    read: (tx, call, service) =>
      pageOr({ title: 'Nothing to verify', not_found: 'There is nothing to verify here.' }, call, async () =>
        verifyPage(await personaOffer(tx, requestOf(call, service)), lookOf(call.query)),
      ),
  }),

  readElementScript: route({
    summary: 'Read the payment element, an ES module that sets the global loadMicroPayments.',
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

/** Returns what `show` returns. If it is refused, browsers get a page that says why. */
async function pageOr(
  { title, ...notices }: { title: string } & Partial<Record<ProblemCode, string>>,
  { query, headers }: { query: { theme?: string | undefined }; headers: Call['headers'] },
  show: () => Promise<Reply>,
): Promise<Reply> {
  try {
    return await show()
  } catch (refused) {
    if (!(refused instanceof Problem)) throw refused
    const notice = notices[refused.code]
    if (notice === undefined || wantsJson(headers)) throw refused
    return noticePage(refused.status, title, notice, themeOf(query.theme))
  }
}
