import type { Answer, Call } from '../api.js'

export const BINDER_HEADER = 'timestamp,fileAction,fileIdentity,fileType,amount,fromAddress,destinationAddress'

/** A hash or an address with a number in its first digits, as a hostname shows them. */
export const binderHash = (kind: 'dq' | 'file' | 'twin', n: number): string =>
  `41${{ dq: 'd', file: 'f', twin: 'a' }[kind]}${n.toString(16).padStart(12, '0')}`.padEnd(66, '0')

export interface BinderLine {
  readonly at: number
  readonly action?: 'receive' | 'send'
  readonly identity: string
  /** Absent for a delegate. */
  readonly dq?: string
  readonly amount?: string
  readonly other: string
}

export const binderLine = ({ at, action = 'receive', identity, dq = '', amount = '', other }: BinderLine): string =>
  [
    new Date(at).toISOString(),
    action,
    identity,
    dq,
    amount,
    ...(action === 'receive' ? [other, ''] : ['', other]),
  ].join(',')

export const binderCsv = (lines: readonly (BinderLine | string)[]): string =>
  [BINDER_HEADER, ...lines.map((line) => (typeof line === 'string' ? line : binderLine(line))), ''].join('\n')

export const CSV = { 'content-type': 'text/csv' }

export const sendBinder = (call: Call, hostname: string, raw: string): Promise<Answer> =>
  call('POST', `/_sandbox/twins/${hostname}/binder`, { raw, headers: CSV })

export const binderOf = async (call: Call, token: string, hostname: string): Promise<string> =>
  (await call('GET', `/v4/twin/${hostname}/binder`, { token, headers: { accept: 'text/csv' } })).text
