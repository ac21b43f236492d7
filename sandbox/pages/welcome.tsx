import type { ComponentChildren } from 'preact'
import { inline, page } from '../../src/http/pages/html.js'
import type { Reply } from '../../src/http/reply.js'
import type { SandboxPages } from './pages.js'
import { pagesStyle, welcomeStyle } from './pages-style.js'
import type { DemoState } from './shop.js'
import script from './welcome.client.ts?script'

const welcomeScript = inline(script)

type Welcome = SandboxPages & { readonly state: DemoState | null }

export const welcomePage = (options: Welcome): Reply =>
  page({
    title: 'farthing',
    styles: [pagesStyle, welcomeStyle],
    script: welcomeScript,
    policy: { 'connect-src': "'self'" },
    body: <WelcomePage {...options} />,
  })

const WelcomePage = (options: Welcome) => {
  const { baseUrl, sandbox } = options.service
  const { version, storage } = sandbox.health()
  return (
    <main>
      <p class="mark">
        <Coin /> farthing {version}
      </p>
      <h1>Your micropayment service is running</h1>
      <p class="lead">
        It listens at <code>{baseUrl}</code> and stores its state in {STORAGES[storage] ?? storage}.
      </p>
      <ul class="links">
        {(options.state ? [...demoLinks, ...links] : links).map(([href, text, first]) => (
          <li>
            <a class={first} href={href}>
              {text}
            </a>
          </li>
        ))}
      </ul>
      {options.state ? <DemoSections {...options} state={options.state} /> : <NoDemo baseUrl={baseUrl} />}
      <section>
        <h2>With an agent</h2>
        <p class="muted">
          Give this address to any MCP client. It asks you to sign in. You approve each payment.{' '}
          {options.state && (
            <>
              The catalog has “{options.demo.archive.name}” for {options.demo.archive.price} per call.
            </>
          )}
        </p>
        <Code>{mcpConfig(baseUrl)}</Code>
      </section>
      <section aria-labelledby="outbox-title" id="outbox" hidden>
        <h2 id="outbox-title">Outbox</h2>
        <p class="muted">A sandbox sends no mail. These are the latest messages, with their codes:</p>
        <p id="outbox-closed" hidden>
          This sandbox asks for its control token. Open the link to the dashboard that it prints when it starts, or add{' '}
          <code>?control_token=</code> and the token to the address of this page.
        </p>
        <ul class="outbox" aria-live="polite" />
      </section>
    </main>
  )
}

type Link = readonly [href: string, text: string, className?: string]

const demoLinks: readonly Link[] = [
  ['/shop', 'Visit the shop', 'first'],
  ['/phone', "The payer's phone"],
]
const links: readonly Link[] = [
  ['/demo/', 'Try it offline'],
  ['/v4/openapi.json', 'OpenAPI'],
  ['/_sandbox/ledger', 'Ledger audit'],
  ['/_sandbox/health', 'Health'],
]

const STORAGES: Record<string, string> = { memory: 'memory until it stops', file: 'a file' }

const DemoSections = ({ demo, state, service: { baseUrl } }: Welcome & { readonly state: DemoState }) => (
  <>
    <section>
      <h2>Pay as a reader</h2>
      <p class="muted">
        Sign in with this address and this code, or sign up with any other address. Its code is in the outbox.
      </p>
      <dl>
        <Fact name="Email">{demo.payer.email}</Fact>
        <Fact name="Code">{demo.payer.code}</Fact>
      </dl>
    </section>
    <section>
      <h2>Sell as {demo.account.name}</h2>
      <p class="muted">The account's credentials and the commodities that it sells.</p>
      <dl>
        <Fact name="client_id">{demo.account.client_id}</Fact>
        <Fact name="client_secret">{demo.account.client_secret}</Fact>
        <Fact name="public_secret">{demo.account.public_secret}</Fact>
        <Fact name={`${state.article.descriptor}, ${state.article.cost}`}>{demo.commodities.article}</Fact>
        <Fact name={`${state.song.descriptor}, ${state.song.cost}`}>{demo.commodities.song}</Fact>
      </dl>
    </section>
    <section>
      <h2>From the command line</h2>
      <p class="muted">Get an access token. Then call any operation as the account.</p>
      <Code>{tokenByCurl(baseUrl, demo.account)}</Code>
    </section>
    <section>
      <h2>On your own page</h2>
      <p class="muted">Add a payment button, and listen for the event after a payment.</p>
      <Code>{snippet(baseUrl, demo.account.public_secret, demo.commodities.song)}</Code>
    </section>
  </>
)

const NoDemo = ({ baseUrl }: { baseUrl: string }) => (
  <section>
    <h2>From the command line</h2>
    <p class="muted">
      This sandbox started without the demo. Create an account. The answer has the credentials for an access token.
    </p>
    <Code>{accountByCurl(baseUrl)}</Code>
  </section>
)

const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>
      <code>{children}</code>
    </dd>
  </div>
)

const Code = ({ children }: { children: string }) => (
  <pre>
    <code>{children}</code>
  </pre>
)

const tokenByCurl = (baseUrl: string, { client_id, client_secret }: { client_id: string; client_secret: string }) =>
  `curl -X POST ${baseUrl}/v4/account/oauth/token \\
  -u ${client_id}:${client_secret}

curl ${baseUrl}/v4/twins -H "Authorization: Bearer ACCESS_TOKEN"`

const accountByCurl = (baseUrl: string) => `curl -X POST ${baseUrl}/v4/account

curl -X POST ${baseUrl}/v4/account/oauth/token -u CLIENT_ID:CLIENT_SECRET`

const mcpConfig = (baseUrl: string) =>
  JSON.stringify({ mcpServers: { farthing: { type: 'http', url: `${baseUrl}/mcp` } } }, null, 2)

const snippet = (baseUrl: string, publicSecret: string, hash: string) => `<div id="pay"></div>
<script type="module" crossorigin="anonymous" src="${baseUrl}/micropay.js"></script>
<script type="module">
  const payments = await loadMicroPayments('${publicSecret}')
  payments.elements()
    .create('payment', { hash: '${hash}' })
    .mount('#pay')
  document.addEventListener('payment', ({ detail }) => {
    // Send detail.nonce and detail.timestamp to your server, which validates the payment once.
  })
</script>`

const Coin = () => (
  <svg viewBox="0 0 28 28" aria-hidden="true">
    <circle cx="14" cy="14" r="13" fill="#a4552a" />
    <circle cx="14" cy="14" r="10.2" fill="none" stroke="#fff" stroke-opacity=".55" stroke-width="1.2" />
    <path d="M11.6 19V9h5.6M11.6 14h4.4" fill="none" stroke="#fff" stroke-width="2.2" />
  </svg>
)
