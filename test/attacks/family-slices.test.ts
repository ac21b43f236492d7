import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { type OidcClientRow, oidcClients } from '../../src/consent/oidc/clients/client.js'
import { type ConnectionRow, oidcConnections } from '../../src/consent/oidc/connection.js'
import { type DelegateRow, delegates } from '../../src/consent/personas/delegate.js'
import { type TimerRow, timers } from '../../src/jobs/schedule/timer.js'
import { connected, earlierId, flood, proves, rowsOf, serve, started } from '../support/scenes/families.js'
import { newAgent, newApp } from '../support/scenes/oidc.js'
import { newDelegate, newPersona } from '../support/scenes/personas.js'
import { newPayer } from '../support/scenes/world.js'

/** What ended with a generation or a client, after the transaction that ended it. */

test('what has ended is removed slice by slice, also after a restart, and nothing else is', async () => {
  const run = await started()
  const { call } = run
  const { app } = await connected(run)
  await flood<OidcClientRow>(run, 50, oidcClients, (n) => ({ id: `app ${n}` }))
  await flood<ConnectionRow>(run, 50, oidcConnections, (n) => ({ ...earlierId(n), client_id: `app ${n}` }))
  const { hash: persona } = await newPersona(call, run.user)
  await newDelegate(call, { token: run.user.token }, { persona, hostname: run.user.hostname })
  await flood<DelegateRow>(run, 50, delegates, (n) => ({ id: `0 ${n}`, number: -n, issue: n + 1 }))
  const { token } = await newPayer(call, run.seller)
  const other = (await call('POST', '/v4/session', { token })).body.session_id
  const agent = await newAgent(call, { app, session: other })
  const deleted = await newApp(call)
  await newAgent(call, { app: deleted, session: other })
  await flood<ConnectionRow>(run, 50, oidcConnections, (n) => ({
    ...{ id: -1000 - n, user_id: 1_000_000 + n, client_id: deleted.id },
  }))
  const { session } = await proves(run)
  const path = `/v4/oidc/reg/${deleted.id}`
  expect((await call('DELETE', path, { token: deleted.registrationToken })).status).toBe(204)
  expect((await rowsOf<ConnectionRow>(run, oidcConnections)).length).toBeGreaterThan(50)
  const state = await run.inner.export()
  await run.service.close()

  const inner = memoryStorage()
  await inner.import(state)
  const restarted = { ...run, ...serve({ storage: inner }), inner }
  expect((await restarted.call('GET', '/healthz')).status).toBe(200)
  const connections = () => rowsOf<ConnectionRow>(restarted, oidcConnections)
  await expect.poll(connections).toMatchObject([{ client_id: app.id }])
  const given = async () => (await rowsOf<DelegateRow>(restarted, delegates)).filter((row) => row.revoked_at === null)
  await expect.poll(given).toEqual([])
  const kinds = async () => (await rowsOf<TimerRow>(restarted, timers)).map(({ kind }) => kind)
  await expect.poll(kinds).not.toContain('former_generation')
  expect(await kinds()).not.toContain('client_deleted')
  expect((await rowsOf<OidcClientRow>(restarted, oidcClients)).map(({ id }) => id)).not.toContain(deleted.id)
  expect((await restarted.call('GET', '/v4/agent/account', { token: agent.accessToken })).status).toBe(200)
  expect((await restarted.call('GET', '/v4/twins', { session })).status).toBe(200)
})
