import { inline, page } from '../../src/http/pages/html.js'
import { Coin } from '../../src/http/pages/parts.js'
import type { Reply } from '../../src/http/reply.js'
import type { Key } from '../../src/storage/storage.js'
import script from '../phone/page.tsx?script'
import type { SandboxPages } from './pages.js'
import { pagesStyle, phoneStyle } from './pages-style.js'

const phoneScript = inline(script)

/** The page with the phone of the demo's payer. Undefined if the state has no such user. */
export async function phonePage({ service, demo }: SandboxPages): Promise<Reply | undefined> {
  const { email } = demo.payer
  const { rows } = await service.sandbox.snapshot()
  const user = rows.users?.find((each) => 'email' in each && each.email === email)
  return (
    user &&
    page({
      title: "The payer's phone",
      styles: [pagesStyle, phoneStyle],
      script: phoneScript,
      policy: { 'connect-src': "'self'" },
      body: <PhonePage userId={user.id} email={email} />,
    })
  )
}

const PhonePage = ({ userId, email }: { userId: Key; email: string }) => (
  <main>
    <div class="phone">
      <header>
        <Coin />
        <h1>The payer's phone</h1>
        <p class="small">
          <code>{email}</code>
        </p>
      </header>
      <div id="phone" data-user-id={userId} data-email={email} />
    </div>
    <footer class="small">
      <a href="/">The sandbox</a>
    </footer>
  </main>
)
