import { problem } from '../../base/problem.js'
import {
  AccountName,
  ContentHash,
  component,
  Email,
  TwinShape,
  UnixSeconds,
  UnixSecondsDigits,
  UserShape,
  z,
} from '../../http/fields/schema.js'
import { defineRoutes, route } from '../../http/route.js'
import { createAccount, readAccount, registerAccount, showAccount, updateAccount } from './account.js'

const times = { created_at: UnixSecondsDigits, updated_at: UnixSecondsDigits }

const accountShape = {
  id: z.Id,
  ...times,
  secrets: z.tuple([
    component('PublicSecret', { public_secret: z.TextId, ...times }),
    component('AccountClientSecret', {
      client_id: z.TextId,
      client_secret: z.secret(z.nullable(z.string())),
      ...times,
    }),
  ]),
}

const Account = component('Account', accountShape)
const own = { evidence: 'documented', path: '/account', versions: ['v4'], auth: ['account'] } as const

export const accountRoutes = defineRoutes('accounts', {
  createAccount: route({
    summary: 'Create an account. Only this answer shows its client secret.',
    evidence: 'documented',
    method: 'POST',
    path: '/account',
    versions: ['v4', 'v2'],
    auth: ['none'],
    status: 201,
    result: Account,
    errors: ['account_creation_refused', 'account_creation_failed'],
    failure: 'account_creation_failed',
    adds: 'accounts',
    idempotent: true,
    async write(tx, _call, service) {
      if (!service.options.accountCreation) throw problem('account_creation_refused')
      const { account, client, client_secret } = await createAccount(tx, { at: service.clock.now() }, service)
      return showAccount(account, client, client_secret)
    },
  }),
  readAccount: route({
    ...own,
    summary: "Read the caller's account, without its client secret.",
    method: 'GET',
    result: z.object({ ...accountShape, name: z.nullable(z.string()), businessName: z.nullable(z.string()) }),
    read: (tx, { principal }) => readAccount(tx, principal.id),
  }),
  updateAccount: route({
    ...own,
    summary: "Set the account's names. Null clears a name. Omitted names stay unchanged.",
    method: 'PUT',
    body: z.object({ name: z.optional(AccountName), businessName: z.optional(AccountName) }),
    result: z.object({
      id: z.Id,
      name: z.nullable(z.string()),
      businessName: z.nullable(z.string()),
      created_at: UnixSeconds,
      updated_at: UnixSeconds,
    }),
    errors: ['field_invalid'],
    refusesCardData: true,
    async write(tx, { body, principal }, { clock }) {
      if (body.name === undefined && body.businessName === undefined)
        throw problem('field_invalid', { detail: 'Give "name", "businessName" or both.' })
      return updateAccount(tx, principal.id, { ...body, at: clock.now() })
    },
  }),
  registerAccount: route({
    summary: 'Create an account, its primary twin and the user who owns it, in one step.',
    evidence: 'documented',
    method: 'POST',
    path: '/account/register',
    versions: ['v4'],
    auth: ['none'],
    body: z.object({ dq: ContentHash, email: Email }),
    status: 201,
    result: z.object({ account: Account, twin: TwinShape, user: UserShape }),
    errors: ['account_creation_refused', 'dq_unknown', 'email_taken', 'provisioning_failed'],
    failure: 'provisioning_failed',
    adds: 'accounts',
    idempotent: true,
    async write(tx, { body }, service) {
      if (!service.options.accountCreation) throw problem('account_creation_refused')
      return registerAccount(tx, { ...body, at: service.clock.now() }, service)
    },
  }),
})
