import { client } from 'farthing/client'
import { describe, expect, expectTypeOf, it } from 'vitest'
import type { CommonCode } from '../../adapters/client/interface.js'
import { nameOf } from '../../adapters/client/naming.js'
import { clientOperations } from '../../adapters/client/operations.js'
import type { Client } from '../../adapters/client.js'
import { routeList } from '../../scripts/route-table.js'
import { isProbe } from '../../src/http/probes/paths.js'
import { isPage } from '../../src/http/route.js'
import { errorsOf } from '../../src/http/routing/errors.js'

/** Every method of a client. Read it aloud when you add an operation: would you look for it there? */
const names = [
  'accountChanges.apply',
  'accountChoices.create',
  'accountMcp.call',
  'accountMcpResources.read',
  'accountTokens.create',
  'accountTokens.create_v2',
  'accounts.create',
  'accounts.create_v2',
  'accounts.read',
  'accounts.register',
  'accounts.update',
  'agentAccounts.read',
  'agentSettings.read',
  'agentSettings.update',
  'approvals.approve',
  'approvals.create',
  'approvals.list',
  'approvals.read',
  'approvals.reject',
  'authenticationRequests.approve',
  'authenticationRequests.create',
  'authenticationRequests.read',
  'authenticationRequests.reject',
  'authorizationServers.read',
  'authorizations.answer',
  'authorizations.answer_v3',
  'authorizations.delete',
  'authorizations.delete_v3',
  'authorizations.list',
  'authorizations.list_v3',
  'billing.read',
  'billingProfile.read',
  'billingProfile.update',
  'binders.import',
  'binders.read',
  'binders.read_v2',
  'callers.actAs',
  'cards.delete',
  'cards.update',
  'cartItems.add',
  'cartItems.delete',
  'cartItems.update',
  'carts.create',
  'carts.delete',
  'carts.pay',
  'carts.read',
  'catalogItems.archive',
  'catalogItems.call',
  'catalogItems.callByGet',
  'catalogItems.create',
  'catalogItems.list',
  'catalogItems.read',
  'catalogItems.restore',
  'catalogItems.update',
  'checkoutRefunds.list',
  'checkoutRefunds.settle',
  'checkouts.complete',
  'checkouts.create',
  'checkouts.read',
  'clock.read',
  'clock.update',
  'collections.list',
  'commodities.create',
  'commodities.create_v2',
  'commodities.list',
  'commodities.read',
  'commodities.read_v2',
  'commodities.update',
  'commodityTransactions.list',
  'connections.delete',
  'connections.list',
  'coverage.read',
  'credentials.read',
  'deadLetters.list',
  'deadLetters.retry',
  'delegateMapping.list',
  'delegateMapping.list_v3',
  'delegates.create',
  'delegates.create_v3',
  'delegates.delete',
  'delegates.list',
  'digitalQuantities.list',
  'discoveryRefusals.list',
  'dispatchParameters.list',
  'dispatchParameters.replace',
  'dueWork.read',
  'encryptionKeys.forget',
  'events.create',
  'events.follow',
  'events.list',
  'events.read',
  'faults.arm',
  'faults.clear',
  'faults.disarm',
  'faults.list',
  'forks.create',
  'forks.list',
  'forks.remove',
  'health.read',
  'insertedAuthorizationServers.read',
  'insertedOpenidConfiguration.read',
  'inventories.read',
  'inventories.read_v2',
  'invoicePages.read',
  'invoicePdfs.read',
  'invoices.list',
  'invoices.pay',
  'invoices.read',
  'jwks.read',
  'ledger.audit',
  'mcp.call',
  'mcpResources.read',
  'merchantPayments.create',
  'namedStates.compare',
  'namedStates.export',
  'namedStates.list',
  'namedStates.remove',
  'namedStates.save',
  'oidcClients.delete',
  'oidcClients.read',
  'oidcClients.register',
  'oidcClients.update',
  'oidcKeys.rotate',
  'oidcTokens.create',
  'oidcTokens.introspect',
  'oidcTokens.revoke',
  'openapi.read',
  'openidConfiguration.read',
  'outbox.empty',
  'outbox.read',
  'ownCatalogItems.list',
  'pageSessions.create',
  'paybacks.create',
  'paybacks.update',
  'paymentNonces.read',
  'paymentNonces.read_v2',
  'payments.create',
  'payments.create_v2',
  'payments.list',
  'payments.read',
  'payments.validate',
  'payments.validate_v2',
  'paywall.call',
  'personas.create',
  'personas.read',
  'personas.read_v3',
  'personas.verify',
  'personas.verify_v3',
  'phones.approveOn',
  'phones.read',
  'phones.rejectOn',
  'phones.set',
  'plans.list',
  'plans.update',
  'protectedResources.read',
  'purchases.create',
  'purchases.list',
  'purchases.read',
  'pushTokens.register',
  'registrations.create',
  'registrations.delete',
  'registrations.list',
  'rehearsals.keep',
  'rehearsals.list',
  'rehearsals.read',
  'requests.clear',
  'requests.explain',
  'requests.follow',
  'requests.list',
  'requests.read',
  'requests.replay',
  'rows.list',
  'sandbox.fork',
  'sandbox.reset',
  'sandbox.rewind',
  'sandbox.seed',
  'sandboxMcp.call',
  'sessionCodes.send',
  'sessionCodes.verify',
  'sessions.create',
  'sessions.create_v3',
  'sessions.delete',
  'sessions.deleteById',
  'sessions.list',
  'sessions.read',
  'snapshot.read',
  'snapshot.restore',
  'testValues.read',
  'tools.create',
  'tools.delete',
  'tools.list',
  'tools.update',
  'topups.create',
  'transfers.cancel',
  'transfers.claim',
  'transfers.create',
  'transfers.list',
  'transfers.read',
  'twinNonces.create',
  'twinNonces.verify',
  'twinQuantities.list',
  'twins.create',
  'twins.create_v2',
  'twins.fund',
  'twins.list',
  'twins.list_v2',
  'twins.read',
  'twins.read_v2',
  'userSecrets.create',
  'userTokens.create',
  'userTokens.create_v2',
  'userinfo.read',
  'userinfo.readByForm',
  'users.approveAs',
  'users.create',
  'users.create_v3',
  'users.list',
  'users.read',
  'users.read_v2',
  'users.rejectAs',
  'users.signInAs',
  'webhookDeliveries.list',
  'wallets.link',
  'wallets.list',
  'webhooks.create',
  'webhooks.delete',
  'webhooks.list',
  'webhooks.read',
  'webhooks.redeliver',
  'webhooks.rotate',
  'webhooks.test',
  'webhooks.update',
  'x402Kinds.list',
  'x402Payments.settle',
  'x402Payments.verify',
  'x402Resources.list',
  'x402Resources.search',
] as const

/** The names of a type of groups. */
type NamesIn<Groups> = {
  [Group in Exclude<keyof Groups, 'as'>]: `${Group & string}.${keyof Groups[Group] & string}`
}[Exclude<keyof Groups, 'as'>]

const namesIn = (groups: object): string[] =>
  Object.entries(groups).flatMap(([group, methods]) =>
    group === 'as' ? [] : Object.keys(methods).map((method) => `${group}.${method}`),
  )

const target = 'http://127.0.0.1:4242'

describe('the names of the client', () => {
  it('are these, at run time and in its type', () => {
    expect(namesIn(client(target)).sort()).toEqual([...names].sort())
    expectTypeOf<NamesIn<Client>>().toEqualTypeOf<(typeof names)[number]>()
  })

  it('are one for each operation, but for pages and probes', () => {
    const ids = clientOperations.map(({ id }) => id)
    expect(ids).toEqual(routeList.filter((route) => !isPage(route) && !isProbe(route.path)).map(({ id }) => id))
    const endpoints = clientOperations.flatMap(({ versions = ['v4'] }) => (versions.length > 0 ? versions : ['']))
    // `events.follow` and `requests.follow` stream what is listed.
    expect(new Set(names).size).toBe(endpoints.length + 2)
    expect(names).toHaveLength(new Set(names).size)
  })

  it('put what is listed with what is read, changed and made', () => {
    const nouns = clientOperations.map(({ id }) => ({ noun: id.replace(/^[a-z]+/, ''), ...nameOf(id) }))
    const singular = (noun: string) => noun.replace(/ies$/, 'y').replace(/s$/, '')
    const pairs = nouns
      .filter(({ method }) => method === 'list')
      .flatMap((list) =>
        nouns.filter(({ noun }) => noun === singular(list.noun)).map((other) => [list.group, other.group]),
      )
    expect(pairs.length).toBeGreaterThan(20)
    expect(pairs.filter(([list, other]) => list !== other)).toEqual([])
  })

  it('are fewer for a grade, and the type knows which', () => {
    const observed = client(target, { evidence: 'observed' })
    expect(namesIn(observed)).toContain('payments.create')
    expect(namesIn(observed)).not.toContain('payments.list')
    expectTypeOf(observed.payments).toHaveProperty('create')
    expectTypeOf(observed.payments).not.toHaveProperty('list')
    expectTypeOf<NamesIn<Client<'observed'>>>().toExtend<(typeof names)[number]>()
    const documented = clientOperations.filter(({ evidence }) => evidence === 'documented')
    expect(namesIn(client(target, { evidence: 'documented' }))).toEqual(
      expect.arrayContaining(documented.map(({ id }) => Object.values(nameOf(id)).join('.'))),
    )
    expectTypeOf<keyof Client<'documented'>['commodities']>().toEqualTypeOf<'create' | 'create_v2' | 'read_v2'>()
    expect(Object.keys(client(target, { evidence: 'documented' }).commodities)).toEqual([
      'create',
      'create_v2',
      'read_v2',
    ])
  })

  it('come from ids of a verb and a noun', () => {
    expect(nameOf('signInAsUser')).toEqual({ group: 'users', method: 'signInAs' })
    expect(nameOf('listInventories_v2')).toEqual({ group: 'inventories', method: 'list_v2' })
    expect(() => nameOf('pay')).toThrow('must be a verb and a noun, not "pay"')
  })
})

describe('the codes of the client', () => {
  it('are those that an operation may answer with', () => {
    const common: Record<Exclude<CommonCode, 'unknown'>, true> = {
      agent_token_required: true,
      authorization_missing: true,
      bearer_required: true,
      body_malformed: true,
      body_too_large: true,
      card_data_refused: true,
      client_unknown: true,
      content_type_refused: true,
      credentials_missing: true,
      cross_site: true,
      evidence_refused: true,
      field_invalid: true,
      header_malformed: true,
      host_refused: true,
      idempotency_in_progress: true,
      idempotency_key_invalid: true,
      idempotency_mismatch: true,
      idempotency_unreadable: true,
      insufficient_scope: true,
      internal_error: true,
      no_such_path: true,
      not_an_account: true,
      not_found: true,
      not_loaded: true,
      origin_refused: true,
      outcome_unknown: true,
      overloaded: true,
      page_refused: true,
      path_malformed: true,
      public_secret_unknown: true,
      refresh_token_invalid: true,
      sandbox_refused: true,
      scheme_refused: true,
      session_conflict: true,
      sign_in_required: true,
      storage_full: true,
      storage_unavailable: true,
      token_invalid: true,
      too_many_failures: true,
      too_many_new: true,
      wrong_principal: true,
    }
    const added = new Set(
      routeList
        .filter((route) => !isPage(route))
        .flatMap((route) => errorsOf(route).filter((code) => !route.errors?.includes(code))),
    )
    expect([...added].filter((code) => !(code in common))).toEqual([])
  })
})
