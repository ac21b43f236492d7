import { computed, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { CoveredOperation } from '../../src/sandbox/controls/coverage.js'
import type { Credentials } from '../../src/sandbox/controls/seed/credentials.js'
import { address, call } from './api.js'
import { Code, QuietLink, Search, Table } from './parts.js'

const known = signal<Credentials>({ accounts: [], users: [] })
const operations = signal<readonly CoveredOperation[]>([])
const query = signal('')

const found = computed(() => {
  const text = query.value.toLowerCase()
  return operations.value.filter(({ operation_id, path }) => `${operation_id} ${path}`.toLowerCase().includes(text))
})

const pages = [
  ['shop', 'Shop'],
  ['phone', "The payer's phone"],
  ['demo/', 'Try it offline'],
  ['docs/errors', 'All errors'],
  ['v4/openapi.json', 'OpenAPI'],
  ['_sandbox/ledger', 'Ledger audit'],
  ['_sandbox/health', 'Health'],
] as const

/** How code, a terminal and agents reach this sandbox. */
export function Connect() {
  useEffect(() => {
    call('GET', '_sandbox/credentials').then(({ ok, body }) => ok && (known.value = body))
    call('GET', '_sandbox/coverage').then(({ ok, body }) => ok && (operations.value = body.operations))
  }, [])
  const [user] = known.value.users
  return (
    <>
      <Environment />
      <section aria-label="Credentials">
        <h2>Seeded credentials</h2>
        <dl class="facts">
          {known.value.accounts.map(({ name, public_secret, client_id, client_secret }) => (
            <Secrets key={client_id} title={name} values={{ public_secret, client_id, client_secret }} />
          ))}
          {known.value.users.map(({ email, code, client_id, client_secret }) => (
            <Secrets key={client_id} title={email} values={{ ...(code && { code }), client_id, client_secret }} />
          ))}
        </dl>
        {user === undefined && <p class="muted">This sandbox was not seeded. Create a person under Data.</p>}
      </section>
      <Operations />
    </>
  )
}

function Environment() {
  const [account] = known.value.accounts
  return (
    <section aria-label="Environment">
      <h2>Pages</h2>
      <p class="acts">
        {pages.map(([path, title]) => (
          <QuietLink key={path} href={path}>
            {title}
          </QuietLink>
        ))}
      </p>
      <h2>.env</h2>
      <Code>
        {[
          `FARTHING_URL=${address}`,
          ...(account
            ? [
                `FARTHING_PUBLIC_SECRET=${account.public_secret}`,
                `FARTHING_CLIENT_ID=${account.client_id}`,
                `FARTHING_CLIENT_SECRET=${account.client_secret}`,
              ]
            : []),
        ].join('\n')}
      </Code>
      <h2>Command line</h2>
      <Code>
        {account
          ? `curl -X POST ${address}/v4/account/oauth/token -u ${account.client_id}:${account.client_secret}`
          : `curl -X POST ${address}/v4/account`}
      </Code>
      <h2>Agents that buy</h2>
      <p class="muted">Give this to any MCP client. It asks you to sign in, and you approve each payment.</p>
      <Code>{mcp('farthing', 'mcp')}</Code>
      <h2>Coding agents</h2>
      <p class="muted">Read the journal, explain refusals, arm faults and move the clock.</p>
      <Code>{mcp('farthing-sandbox', '_sandbox/mcp')}</Code>
    </section>
  )
}

const Operations = () => (
  <section aria-label="Operations">
    <h2>Operations</h2>
    <p class="filters">
      <Search label="Search in the operations" query={query} />
      <a href={`${address}/v4/openapi.json`}>OpenAPI</a>
    </p>
    <Table columns={['Operation', 'Request', 'Evidence', 'Called']}>
      {found.value.map(({ operation_id, method, path, evidence, calls }) => (
        <tr key={`${operation_id} ${path}`}>
          <th scope="row">{operation_id}</th>
          <td>
            <code>{`${method} ${path}`}</code>
          </td>
          <td>{evidence}</td>
          <td class="amount">{calls}</td>
        </tr>
      ))}
    </Table>
  </section>
)

const mcp = (name: string, path: string) =>
  JSON.stringify({ mcpServers: { [name]: { type: 'http', url: `${address}/${path}` } } }, null, 2)

const Secrets = ({ title, values }: { title: string; values: Readonly<Record<string, string>> }) => (
  <div>
    <dt>{title}</dt>
    <dd>
      <Code>
        {Object.entries(values)
          .map(([name, value]) => `${name}=${value}`)
          .join('\n')}
      </Code>
    </dd>
  </div>
)
