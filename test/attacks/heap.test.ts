import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { caller } from '../support/api.js'
import { cli, type Sandbox } from '../support/cli.js'

const { start } = cli()

/** Half a megabyte that nobody sent before, in characters that need no escape. */
const distinct = () => randomBytes(393_216).toString('base64url')

/** Calls that look something up by a value of any length before they know who asks. */
async function floods({ url }: Sandbox): Promise<((value: string) => Promise<{ status: number }>)[]> {
  const call = caller({ url, fetch })
  const registered = (token_endpoint_auth_method: string) =>
    call('POST', '/v4/oidc/reg', {
      body: { client_name: 'Reader', redirect_uris: ['http://127.0.0.1/cb'], token_endpoint_auth_method },
    })
  const open = (await registered('none')).body
  const closed = (await registered('client_secret_post')).body
  const secret = { client_id: closed.client_id, client_secret: closed.client_secret }
  const send = (path: string, form: Record<string, string>) =>
    fetch(url + path, { method: 'POST', body: new URLSearchParams(form) })
  return [
    (token) => send('/v4/oidc/token/revocation', { client_id: open.client_id, token }),
    (token) => send('/v4/oidc/token/introspection', { ...secret, token }),
    (access_token) => send('/v4/oidc/me', { access_token }),
    (token) => send('/v4/oidc/me', { access_token: `${token}.` }),
  ]
}

it('a flood of distinct long values does not fill the memory of a sandbox', async () => {
  const sandbox = await start(['--memory'], { env: { NODE_OPTIONS: '--max-old-space-size=96' } })
  const calls = await floods(sandbox)
  const statuses = new Set<number>()
  for (let round = 0; round < 70; round++)
    for (const { status } of await Promise.all(calls.map((call) => call(distinct())))) statuses.add(status)
  expect([...statuses].filter((status) => status >= 500)).toEqual([])
  expect((await fetch(`${sandbox.url}/_sandbox/health`)).status).toBe(200)
})
