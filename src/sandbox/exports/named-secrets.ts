import { Problem } from '../../base/problem.js'
import { visibleLine } from '../../base/text/visible.js'
import type { Entry } from '../onion/entry.js'
import { draftOf, type EntryCaller, type Secret, secretsIn } from '../replay/call-draft.js'
import { type WritableCall, writableCall } from './writable-call.js'

/** A variable of an export, in place of a secret. */
export interface Variable {
  readonly name: string
  /** How to get its value: a visible line. */
  readonly hint: string
}

/** A call that an export can hold. */
export interface WrittenCall {
  readonly entry: Entry
  readonly draft: WritableCall
  /** The headers that identify the caller. Undefined stands for the place of a variable. */
  readonly credential: { readonly header: string; readonly before: string; readonly variable: Variable } | undefined
  variableOf(secret: Secret): Variable
  readonly variables: readonly Variable[]
}

/** A call of an export, or the reason why it is left out: a visible line. */
export type ExportedCall = WrittenCall | { readonly draft: undefined; readonly entry: Entry; readonly reason: string }

/** Prepares entries for an export. Timers and deliveries are left out. */
export function exportedCalls(entries: readonly Entry[]): ExportedCall[] {
  return entries.filter(({ origin }) => origin !== 'timer' && origin !== 'delivery').map(exportedCall)
}

function exportedCall(entry: Entry): ExportedCall {
  try {
    const whole = draftOf(entry)
    const draft = writableCall(whole)
    if (typeof draft === 'string') return { draft: undefined, entry, reason: draft }
    const credential = credentialOf(whole.caller)
    const number = entry.id.replace(/^.*_0*/, '')
    const variableOf = ({ name, field }: Secret): Variable => ({
      name: `${name.toUpperCase().replace(/\W+/g, '_') || 'SECRET'}_${number}`,
      hint: visibleLine(`the value of \`${field}\`, which the journal does not keep`),
    })
    const variables = [...(credential ? [credential.variable] : []), ...secretsIn(whole).map(variableOf)]
    return { entry, draft, credential, variableOf, variables }
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'not_replayable') throw error
    return { draft: undefined, entry, reason: visibleLine(error.message) }
  }
}

const TOKEN_CALL = 'POST {url}/v4/{of}/oauth/token with client credentials (farthing prints seeded ones when it starts)'

function credentialOf(caller: EntryCaller) {
  switch (caller.kind) {
    case 'none':
      return undefined
    case 'token': {
      const from = caller.of === 'agent' ? 'POST {url}/v4/oidc/token' : TOKEN_CALL.replace('{of}', caller.of)
      return bearer(
        `TOKEN_${caller.of.toUpperCase()}_${caller.id}`,
        `access token of ${caller.of}:${caller.id}, from ${from}`,
      )
    }
    case 'session': {
      const whose = caller.userId === null ? 'GUEST' : `USER_${caller.userId}`
      const from = caller.userId === null ? 'GET {url}/v4/session' : 'POST {url}/_sandbox/sign-in with their email'
      const variable = { name: `SESSION_${whose}`, hint: `session_id, from ${from}` }
      return { header: 'x-session-id', before: '', variable }
    }
    case 'client': {
      const name = `BASIC_${caller.clientId.toUpperCase().replace(/\W+/g, '_')}`
      const variable = { name, hint: `base64 of ${visibleLine(caller.clientId)}:<client secret>` }
      return { header: 'authorization', before: 'Basic ', variable }
    }
    case 'refresh':
      return bearer('REFRESH_TOKEN', 'a refresh token, which is spent when it is used')
    case 'wrong': {
      const variable = { name: 'REFUSED_CREDENTIAL', hint: 'a credential that is refused, as it was' }
      return { header: 'authorization', before: `${caller.scheme} `, variable }
    }
  }
}

const bearer = (name: string, hint: string) => ({
  header: 'authorization',
  before: 'Bearer ',
  variable: { name, hint },
})
