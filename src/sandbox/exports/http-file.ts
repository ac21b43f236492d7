import { shown, titleOf } from '../journal/entry-title.js'
import type { Template } from '../replay/call-draft.js'
import type { ExportedCall } from './named-secrets.js'

/** Writes calls as a file of the REST clients of VS Code and JetBrains. Secrets are variables at its beginning. */
export function httpExport(calls: readonly ExportedCall[], { baseUrl }: { readonly baseUrl: string }): string {
  const variables = new Map(
    calls.flatMap((call) => (call.draft ? call.variables : [])).map((each) => [each.name, each]),
  )
  const head = [...variables.values()].flatMap(({ name, hint }) => [
    `# ${shown(hint).replaceAll('{url}', baseUrl)}`,
    `@${name} =`,
  ])
  return `${[[`@url = ${baseUrl}`, ...head].join('\n'), ...calls.map(request)].join('\n\n')}\n`
}

function request(call: ExportedCall): string {
  if (!call.draft) return `### ${titleOf(call.entry)}\n# Left out. ${shown(call.reason)}`
  const { draft, credential, variableOf } = call
  const text = (template: Template) =>
    template.map((part) => (typeof part === 'string' ? part : `{{${variableOf(part).name}}}`)).join('')
  const body = draft.body && text(draft.body)
  // These lines begin the next request, or name a file to send.
  if (body && /^\s*(###|<|@)/m.test(body))
    return `### ${titleOf(draft.entry)}\n# Left out. Its body has no form in such a file.`
  return [
    `### ${titleOf(draft.entry)}`,
    `${draft.method} {{url}}${text(draft.path)}`,
    ...(credential ? [`${credential.header}: ${credential.before}{{${credential.variable.name}}}`] : []),
    ...Object.entries(draft.headers).map(([name, value]) => `${name}: ${value}`),
    ...(body ? ['', body] : []),
  ].join('\n')
}
