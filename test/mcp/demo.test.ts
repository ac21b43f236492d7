import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { readSettings } from '../../sandbox/config.js'
import { startSandbox } from '../../sandbox/sandbox.js'
import { demo } from '../../sandbox/seed/demo.js'
import { caller } from '../support/api.js'
import { connect, done, refused } from '../support/mcp/mcp.js'
import { fund } from '../support/scenes/market.js'
import { newAgent } from '../support/scenes/oidc.js'

test('an agent finds what the demo sells, and the sandbox itself delivers it', async () => {
  const flags = { port: '0', memory: true, seed: 'demo' }
  const settings = await readSettings({ flags, environment: {}, directory: tmpdir(), apart: true })
  const running = await startSandbox(settings, { warn: () => {} })
  try {
    const { url } = running
    const call = caller({ url, fetch })
    const { accessToken: token } = await newAgent(call, { email: demo.payer.email })
    const client = await connect({ url, fetch }, { token, era: '2026-07-28' })
    const { items } = await done(client, 'catalog_search')
    expect(items).toMatchObject([{ name: demo.archive.name, price: demo.archive.price, seller: demo.account.name }])
    await fund(call, (await done(client, 'agent_wallet_info')).hostname, 1)
    const order = { catalog_item_id: items[0].id, arguments: { words: 'bronze wren' } }
    const { approval } = await refused(client, 'agent_checkout', order)
    const { approval_id } = await done(client, 'request_approval', approval)
    await call('POST', `/_sandbox/approvals/${approval_id}/approve`)
    const { status, response } = await done(client, 'agent_checkout', { ...order, approval_id })
    expect([status, response.status]).toEqual(['paid', 200])
    expect(JSON.parse(response.body).paragraphs).toEqual([expect.stringContaining('little bronze coin')])
    await client.close()
  } finally {
    await running.close()
  }
})
