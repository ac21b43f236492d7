import { titleOf } from '../journal/entry-title.js'
import type { Template } from '../replay/call-draft.js'
import type { ExportedCall, WrittenCall } from './named-secrets.js'

/** Writes calls as a file of the REST clients of VS Code and JetBrains. Secrets are variables at its beginning. */
export function httpExport(calls: readonly ExportedCall[], { baseUrl }: { readonly baseUrl: string }): string {
  const variables = new Map(
    calls.flatMap((call) => (call.draft ? call.variables : [])).map((each) => [each.name, each]),
  )
  const head = [...variables.values()].flatMap(({ name, hint }) => [
    comment(hint.replaceAll('{url}', baseUrl)),
    `@${name} =`,
  ])
  return `${[[`@url = ${baseUrl}`, ...head].join('\n'), ...calls.map(request)].join('\n\n')}\n`
}

function request(call: ExportedCall): string {
  const title = `##${comment(titleOf(call.entry))}`
  const reason = call.draft ? whyUnwritable(call) : call.reason
  if (!call.draft || reason !== undefined) return [title, comment(`Left out. ${reason}`)].join('\n')
  const { draft, credential, variableOf } = call
  const text = (template: Template, brace: string) =>
    template
      .map((part, at) =>
        typeof part === 'string'
          ? withoutTemplates(part, brace, at + 1 < template.length)
          : `{{${variableOf(part).name}}}`,
      )
      .join('')
  return [
    title,
    `${draft.method} {{url}}${text(draft.path, '%7b')}`,
    ...(credential ? [`${credential.header}: ${credential.before}{{${credential.variable.name}}}`] : []),
    ...Object.entries(draft.headers).map(([name, value]) => `${name}: ${value}`),
    ...(draft.body ? ['', text(draft.body, '\\u007b')] : []),
  ].join('\n')
}

/** These clients run what is in `{{}}`, and lines of a body that begin with `<` or `>` name a file or a script. */
function whyUnwritable({ draft, credential }: WrittenCall): string | undefined {
  const values = [...Object.values(draft.headers), credential?.before ?? '']
  if (values.some((value) => value.includes('{{'))) return 'One of its headers has no form in such a file.'
  const [first = ''] = draft.body ?? []
  const isWritable = typeof first !== 'string' || first === '' || /^[\w%{["-]/.test(first)
  const hasTemplate = draft.body?.some((part) => typeof part === 'string' && part.includes('{{')) ?? false
  return isWritable && (draft.isJson || !hasTemplate) ? undefined : 'Its body has no form in such a file.'
}

/**
 * Writes the first of two braces as an escape, of an address or of JSON: there, two stand together only within a text. A
 * variable begins with braces too.
 */
const withoutTemplates = (text: string, brace: string, isBeforeVariable: boolean): string =>
  text.replace(isBeforeVariable ? /\{(?=\{|$)/g : /\{(?=\{)/g, brace)

/** A line that no client obeys. */
const comment = (text: string): string => `# ${text.replace(/\{(?=\{)/g, '{ ')}`
