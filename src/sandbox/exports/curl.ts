import { titleOf } from '../journal/entry-title.js'
import type { Template } from '../replay/call-draft.js'
import type { ExportedCall, Variable } from './named-secrets.js'

/** Writes calls as commands of a POSIX shell. Secrets are environment variables. */
export function curlExport(calls: readonly ExportedCall[], { baseUrl }: { readonly baseUrl: string }): string {
  const url = `FARTHING_URL=\${FARTHING_URL:-${shellQuoted(baseUrl)}}`
  return `${[url, ...calls.map((call) => command(call))].join('\n\n')}\n`
}

function command(call: ExportedCall): string {
  if (!call.draft) return `# ${titleOf(call.entry)}\n# Left out. ${call.reason}`
  const { draft, credential, variableOf } = call
  const text = (template: Template) =>
    template.map((part) => (typeof part === 'string' ? shellQuoted(part) : variable(variableOf(part)))).join('')
  const headers = Object.entries(draft.headers).map(([name, value]) => `-H ${shellQuoted(`${name}: ${value}`)}`)
  const sent =
    credential && `-H ${shellQuoted(`${credential.header}: ${credential.before}`)}${variable(credential.variable)}`
  const parts = [
    // Brackets and braces in a URL are no patterns.
    `curl -sS --globoff ${draft.method === 'HEAD' ? '--head' : `-X ${shellQuoted(draft.method)}`} "$FARTHING_URL"${text(draft.path)}`,
    ...(sent ? [sent] : []),
    ...headers,
    ...(draft.body ? [`--data-raw ${text(draft.body)}`] : []),
  ]
  const hints = call.variables.map(({ name, hint }) => `# ${name}: ${hint.replaceAll('{url}', '$FARTHING_URL')}`)
  return [`# ${titleOf(call.entry)}`, ...hints, parts.join(' \\\n  ')].join('\n')
}

/** A shell takes every character in single quotes as it is. */
const shellQuoted = (text: string): string => (text === '' ? '' : `'${text.replaceAll("'", `'\\''`)}'`)

const variable = ({ name }: Variable): string => `"$${name}"`
