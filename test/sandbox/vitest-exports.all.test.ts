import { beforeAll, expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { exportingSandbox, runExported } from '../support/exported-tests.js'

type Control = readonly [method: string, path: string, body?: object]

/** One request for each control whose answer may depend on what a sandbox keeps beside its state. `{fork}`: the id of a fork. */
const controls: Readonly<Record<string, Control>> = {
  listNamedStates: ['GET', '/_sandbox/snapshots'],
  exportNamedState: ['GET', '/_sandbox/snapshots/one'],
  compareNamedStates: ['GET', '/_sandbox/snapshots/one/compare/current'],
  saveNamedState: ['POST', '/_sandbox/snapshots', { name: 'one' }],
  removeNamedState: ['DELETE', '/_sandbox/snapshots/one'],
  createFork: ['POST', '/_sandbox/forks'],
  forkSandbox: ['POST', '/_sandbox/fork'],
  listForks: ['GET', '/_sandbox/forks'],
  removeFork: ['DELETE', '/_sandbox/forks/{fork}'],
  armFault: ['POST', '/_sandbox/faults', { id: 'one', match: { path: '/x' }, at: 'before', do: { status: 500 } }],
  listFaults: ['GET', '/_sandbox/faults'],
  disarmFault: ['DELETE', '/_sandbox/faults/one'],
  clearFaults: ['DELETE', '/_sandbox/faults'],
  resetSandbox: ['POST', '/_sandbox/reset', {}],
  rewindSandbox: ['POST', '/_sandbox/rewind', { to: 'one' }],
  seedSandbox: ['POST', '/_sandbox/seed', { users: [{ email: 'new@example.test', balance: 2 }] }],
  fundTwin: ['POST', '/_sandbox/fund', { hostname: demo.reader.hostname, amount: 3 }],
  readSnapshot: ['GET', '/_sandbox/snapshot'],
  readClock: ['GET', '/_sandbox/clock'],
  readDueWork: ['GET', '/_sandbox/clock/next'],
  updateClock: ['POST', '/_sandbox/clock', { advance: '1h' }],
  readOutbox: ['GET', '/_sandbox/outbox'],
  emptyOutbox: ['DELETE', '/_sandbox/outbox'],
  readTestValues: ['GET', '/_sandbox/test-values'],
  auditLedger: ['GET', '/_sandbox/ledger'],
  readCoverage: ['GET', '/_sandbox/coverage'],
  readCredentials: ['GET', '/_sandbox/credentials'],
  actAsCaller: ['POST', '/_sandbox/act-as', { principal: 'user:1' }],
  updateCommodity: ['PUT', `/_sandbox/commodities/${demo.commodities.article}`, { cost: 0.5 }],
  listCollections: ['GET', '/_sandbox/rows'],
  listRows: ['GET', '/_sandbox/rows/twins'],
  linkWallet: ['POST', '/_sandbox/wallets', { twin: demo.payer.hostname }],
  listWallets: ['GET', '/_sandbox/wallets'],
  listDiscoveryRefusals: ['GET', '/_sandbox/discovery'],
  listDeadLetters: ['GET', '/_sandbox/dead-letters'],
  forgetEncryptionKey: ['POST', '/_sandbox/encryption-key/forget'],
  rotateOidcKeys: ['POST', '/_sandbox/keys/rotate'],
  signInAsUser: ['POST', '/_sandbox/sign-in', { email: demo.reader.email }],
  setPhone: ['POST', '/_sandbox/devices/1', { mode: 'approve' }],
  readPhone: ['GET', '/_sandbox/devices/1'],
  approveOnPhone: ['POST', '/_sandbox/devices/1/approve', {}],
  rejectOnPhone: ['POST', '/_sandbox/devices/1/reject', {}],
}

/** The field that is named as the reason why a control cannot be repeated. */
const refusedControls = new Map<string, string>()

let outcomes = new Map<string, string>()

/** The control as a test, where it can be one. */
async function exportOf(id: string, [method, path, body]: Control): Promise<string | undefined> {
  const { call, exported, service, ids, refusal } = exportingSandbox()
  await call('GET', '/v4/session')
  await service.sandbox.snapshots.save('one')
  const fork = (await call('POST', '/_sandbox/forks')).body.id
  await service.sandbox.faults.arm({ id: 'one', match: { path: '/x' }, at: 'before', do: { status: 500 } })
  await call(method, path.replace('{fork}', fork), { body })
  const { requests } = await service.sandbox.requests.list({ operation_id: id, limit: 1 })
  expect(requests[0]).toMatchObject({ id: ids.at(-1) })
  const refused = await refusal()
  if (refused === 'nothing') return exported()
  refusedControls.set(id, String(refused[1]))
  await service.close()
  return undefined
}

beforeAll(async () => {
  const texts: Record<string, string> = {}
  for (const [id, control] of Object.entries(controls)) {
    const text = await exportOf(id, control)
    if (text !== undefined) texts[id] = text
  }
  outcomes = await runExported(texts)
})

test.each(Object.keys(controls))(
  'an exported test passes: the control %s, beside whose state other things are kept',
  (id) => {
    expect(outcomes.get(id)).toBe(refusedControls.has(id) ? undefined : 'passed')
  },
)

test('a test is refused of what its own sandbox kept beside the state, and of nothing else', () => {
  expect(new Set(refusedControls.values())).toEqual(new Set(['operation_id', 'state']))
  expect([...refusedControls.keys()]).toEqual([
    ...['listNamedStates', 'exportNamedState', 'compareNamedStates', 'saveNamedState', 'removeNamedState'],
    ...['listForks', 'removeFork', 'armFault', 'listFaults', 'disarmFault', 'resetSandbox', 'rewindSandbox'],
    'readCredentials',
  ])
})
