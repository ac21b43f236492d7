import { Problem } from '../../base/problem.js'
import { z } from '../../http/fields/schema.js'
import { checkArguments, checkSchema } from '../../market/catalog/schema.js'

export const BAZAAR = 'bazaar'

/** How large `info` and `schema` of a resource may be as JSON, together. */
const MOST_BYTES = 16_384
const LONGEST_URL = 2048

const Fields = z.record(z.string(), z.unknown())
const Extension = z.object({ info: Fields, schema: Fields, routeTemplate: z.optional(z.unknown()) })

/** How to call a resource (specification of the extension, "Discovery Info Structure"). */
const Info = z.object({
  input: z.union([
    z.object({ type: z.literal('mcp'), tool: z.string().check(z.minLength(1), z.maxLength(128)), inputSchema: Fields }),
    z.object({ type: z.literal('http'), method: z.enum(['GET', 'HEAD', 'DELETE']) }),
    z.object({
      ...{ type: z.literal('http'), method: z.enum(['POST', 'PUT', 'PATCH']) },
      ...{ bodyType: z.enum(['json', 'form-data', 'text']), body: z.unknown() },
    }),
  ]),
  output: z.optional(z.object({ type: z.string() })),
})

/** The parts of a payment that describe a resource. */
export interface DescribingPayment {
  readonly resource?:
    | {
        readonly url: string
        readonly description?: string | null | undefined
        readonly mimeType?: string | null | undefined
      }
    | null
    | undefined
  readonly extensions?: Readonly<Record<string, unknown>> | null | undefined
}

/** A resource as its payment describes it. */
export interface ResourceDescription {
  readonly type: 'http' | 'mcp'
  /** Without query and fragment. */
  readonly resource: string
  readonly tool: string | undefined
  readonly extension: Readonly<Record<string, unknown>>
}

/** The description in a payment, or why there is none that can be listed. Undefined if the payment has none at all. */
export function describedResource(
  { extensions, resource }: DescribingPayment,
  ownUrl?: string,
): ResourceDescription | { readonly rejected: string } | undefined {
  const given = extensions?.[BAZAAR]
  if (given === undefined) return undefined
  const url = urlOf(resource?.url)
  if (!url) return { rejected: '`resource.url` is no absolute URL of http or https.' }
  const parsed = Extension.safeParse(given)
  if (!parsed.success) return { rejected: 'The extension needs `info` and `schema`, both objects.' }
  const { info, schema, routeTemplate } = parsed.data
  if (new TextEncoder().encode(JSON.stringify([info, schema])).length > MOST_BYTES)
    return { rejected: `\`info\` and \`schema\` have more than ${MOST_BYTES} bytes as JSON.` }
  const rejected = whyUnlike(schema, info)
  if (rejected !== undefined) return { rejected }
  const known = Info.safeParse(info)
  if (!known.success)
    return {
      rejected: '`info.input` describes no call: of type "http" with a method, or "mcp" with a tool and schema.',
    }
  const { input } = known.data
  const template = isRouteTemplate(routeTemplate) ? routeTemplate : undefined
  const place = template === undefined ? url.origin + url.pathname : url.origin + template
  if (ownUrl !== undefined && `${place}/`.startsWith(`${ownUrl}/`))
    return { rejected: '`resource.url` is of this service, which lists its items itself.' }
  return {
    type: input.type,
    resource: place,
    tool: input.type === 'mcp' ? input.tool : undefined,
    extension: { info, schema, ...(template !== undefined && { routeTemplate: template }) },
  }
}

function urlOf(text: string | undefined): URL | undefined {
  if (text === undefined || text.length > LONGEST_URL || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const isPlain = url.username === '' && url.password === ''
  return /^https?:$/.test(url.protocol) && isPlain ? url : undefined
}

/** Why `info` does not match its schema, or why the schema cannot be checked. Both come from a stranger. */
function whyUnlike(schema: Readonly<Record<string, unknown>>, info: Readonly<Record<string, unknown>>) {
  try {
    checkSchema(schema)
    checkArguments(schema, info)
    return undefined
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const { argument, reason } = error.fields
    if (reason === undefined)
      return `\`schema\` cannot be checked. ${String(error.facts.detail).replace('"service_schema"', 'It')}`
    return `\`info\` does not match \`schema\`: ${argument ? `${argument}: ` : ''}${reason}`
  }
}

/** Whether a text may stand for the paths of several resources, as the extension's specification says. */
function isRouteTemplate(template: unknown): template is string {
  if (typeof template !== 'string' || !/^\/[a-zA-Z0-9_/:.\-~%]{1,500}$/.test(template)) return false
  try {
    return !/\.\.|:\/\//.test(decodeURIComponent(template))
  } catch {
    return false
  }
}
