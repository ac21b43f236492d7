/** What the description of the interface shows of an operation. Dots lead into a field, brackets into its rows. */
export interface Documented {
  /** The fields of its query or body. */
  readonly sends?: readonly string[]
  readonly answers?: readonly string[]
}

const secrets = ['public_secret', 'client_id', 'client_secret', 'created_at', 'updated_at']
const account = ['id', 'created_at', 'updated_at', 'secrets', ...secrets.map((name) => `secrets[].${name}`)]
const twin = ['id', 'hostname', 'key', 'balances']
const commodity = ['hash', 'descriptor', 'dq', 'cost', 'hostname']
const userSecrets = ['client_id', 'client_secret', 'created_at', 'updated_at', 'deleted_at']
const user = [
  ...['id', 'email', 'created_at', 'updated_at', 'deleted_at', 'is_android', 'is_ios', 'secrets'],
  ...userSecrets.map((name) => `secrets[].${name}`),
]
const names = ['name', 'shortcode', 'shortdescription']
const inside = (name: string, fields: readonly string[]) => [name, ...fields.map((field) => `${name}.${field}`)]

const token: Documented = {
  sends: ['grant_type'],
  answers: ['access_token', 'expires_at', 'refresh_token', 'refresh_expires_at'],
}
const readUser: Documented = { sends: ['email'], answers: user }
const createUser: Documented = { sends: ['email'], answers: user }
const createTwin: Documented = { sends: ['dq'], answers: twin }
const readTwin: Documented = { sends: ['public_secret'], answers: twin }
const listTwins: Documented = { answers: ['twins', ...twin.map((name) => `twins[].${name}`)] }
const createCommodity: Documented = { sends: ['descriptor', 'dq', 'cost', 'twin_id'], answers: commodity }
const verifyPersona: Documented = { sends: ['twin_id'], answers: ['status', 'message', 'hostname', 'instances'] }

/** The tables of the Micro Payment Service Interface, sections 2 and 4.1 to 4.8. */
export const documentedFields: Readonly<Record<string, Documented>> = {
  'POST /v4/account': { answers: account },
  'POST /v2/account': { answers: account },
  'GET /v4/account': { answers: [...account, 'name', 'businessName'] },
  'PUT /v4/account': {
    sends: ['name', 'businessName'],
    answers: ['id', 'name', 'businessName', 'created_at', 'updated_at'],
  },
  'POST /v4/account/register': {
    sends: ['dq', 'email'],
    answers: [
      ...inside('account', account),
      ...inside('twin', twin),
      ...inside(
        'user',
        user.filter((name) => !name.startsWith('secrets')),
      ),
    ],
  },
  'POST /v4/account/oauth/token': token,
  'POST /v2/account/oauth/token': token,
  'POST /v4/user/oauth/token': token,
  'POST /v2/user/oauth/token': token,
  'POST /v4/user': createUser,
  'POST /v3/user': createUser,
  'GET /v4/user/:user_id': readUser,
  'GET /v2/user/:user_id': readUser,
  'GET /v4/dq': {
    answers: ['digital_quantities', 'metadata', ...names.map((name) => `metadata{}.${name}`)],
  },
  'POST /v4/twin': createTwin,
  'POST /v2/twin': createTwin,
  'GET /v4/twins': listTwins,
  'GET /v2/twins': listTwins,
  'GET /v4/twin/:hostname': readTwin,
  'GET /v2/twin/:hostname': readTwin,
  'GET /v4/twin/:hostname/binder': {},
  'GET /v2/twin/:hostname/binder': {},
  'POST /v4/commodity': createCommodity,
  'POST /v2/commodity': createCommodity,
  'GET /v2/commodity/:hash': { answers: commodity },
  'GET /v4/persona/delegates': {},
  'GET /v3/persona/delegates': {},
  'GET /v4/persona/:hash/verify': verifyPersona,
  'GET /v3/persona/:hash/verify': verifyPersona,
  'GET /v4/agent/account': { answers: ['account', 'account.id', 'account.name', 'choosable'] },
  'POST /v4/agent/account-changes': { sends: ['approval_id'], answers: ['approval_id', 'change', 'result'] },
}
