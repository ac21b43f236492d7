import { normalEmail } from '../../../base/text/email.js'
import { codesOfNetwork, signInCodes, wrongCodes } from '../../../identity/sessions/sign-in-code.js'
import { networkAt } from '../../../identity/users/new-per-day.js'
import { userByEmail, users } from '../../../identity/users/user.js'
import { outbox } from '../../../jobs/outbox/outbox.js'
import { attemptsOf, rates } from '../../../jobs/rates/rate.js'
import { likelyUser, signInFirst } from '../facts/credentials.js'
import type { Explainers } from '../facts/explainer.js'
import type { Fix } from '../facts/explanation.js'
import { userBehind } from '../facts/price.js'
import {
  again,
  askedWait,
  callerId,
  corrected,
  first,
  later,
  type RefusedRequest,
  sent,
  sentText,
} from '../facts/refused-request.js'
import { endText, plural, timeText } from '../facts/words.js'

/** Users, their addresses, and signing in with a mailed code. */
export const signInExplainers = {
  async session_required(asked) {
    const { email, codes } = await codesOf(asked)
    return {
      sentences: [
        codes.length === 0
          ? `No code had been mailed to ${email || 'the address'}.`
          : `${plural(codes.length, 'code')} had been mailed to ${email}, the last at ${timeText(codes[0]?.created_at ?? 0)}, and another session had asked for it.`,
        'Ask for a code and verify it in the same session.',
      ],
      facts: { email, codes: codes.length },
      fix: newCodeFirst(asked, email),
    }
  },

  async code_wrong(asked) {
    const { email, codes } = await codesOf(asked)
    const [last] = codes
    const code = await mailedCode(asked, email)
    return {
      sentences: [
        ...(last
          ? [
              `The last code for ${email} was mailed at ${timeText(last.created_at)}, and ${endText(last.expires_at, asked.at)}. ${TRIES - last.tries} of ${TRIES} tries are left.`,
            ]
          : []),
        ...(code === undefined ? [] : [`The outbox shows the code: ${code}.`]),
        'An address such as `ada+code123456@example.test` always gets the code 123456.',
      ],
      facts: {
        email,
        tries: last?.tries ?? null,
        tries_left: last ? TRIES - last.tries : null,
        expires_at: last ? timeText(last.expires_at) : null,
        outbox_code: code ?? null,
      },
      fix: code === undefined ? newCodeFirst(asked, email) : corrected(asked, { body: { code } }),
    }
  },

  async code_expired(asked) {
    const { email, codes } = await codesOf(asked)
    const [last] = codes
    return {
      sentences: [
        ...(last
          ? [
              last.used
                ? `The last code for ${email} was mailed at ${timeText(last.created_at)} and had been used.`
                : `The last code for ${email} ${endText(last.expires_at, asked.at)}.`,
            ]
          : []),
        'A code works once, within ten minutes. Ask for a new one.',
      ],
      facts: { email, used: last?.used ?? null, expires_at: last ? timeText(last.expires_at) : null },
      fix: newCodeFirst(asked, email),
    }
  },

  async too_many_tries(asked) {
    const { email, codes } = await codesOf(asked)
    const [last] = codes
    const wrong = await attemptsOf(asked.tx, wrongCodes, { subject: email, at: asked.at })
    // Only the limit of the day refuses to mail a code, however often the last one was tried.
    const isOfCode = sent(asked, 'code') !== undefined && (last?.tries ?? 0) >= TRIES
    if (!isOfCode && wrong >= wrongCodes.most) {
      const wait = askedWait(asked, wrongCodes.windowMs / 1000)
      return {
        sentences: [
          `${wrong} wrong codes were entered for ${email} within a day. More are not checked, and no more codes are mailed, except in a session or a browser in which its user signed in before.`,
          `The next one is possible after ${wait} seconds. Addresses such as \`ada+code123456@example.test\` have no limit.`,
        ],
        facts: { email, wrong, most: wrongCodes.most, retry_after: wait },
        fix: later(asked, wait),
      }
    }
    return {
      sentences: [
        `${last?.tries ?? TRIES} wrong codes were entered for the last code of ${email || 'the address'}. At most ${TRIES} may be. Ask for a new one.`,
      ],
      facts: { email, tries: last?.tries ?? null, most: TRIES },
      fix: newCodeFirst(asked, email),
    }
  },

  async too_many_codes(asked) {
    const { email, codes } = await codesOf(asked)
    const { codes: most } = asked.service.limits
    const wait = askedWait(asked, 900)
    const since = asked.at - 15 * 60_000
    const unused = codes.filter(({ used, created_at }) => !used && created_at > since).length
    const network = unused < most ? networkAt(asked.entry.client_address) : undefined
    if (network) {
      const all = await attemptsOf(asked.tx, codesOfNetwork, { subject: network, at: asked.at })
      return {
        sentences: [
          `${plural(all, 'unused code')} had been mailed for ${asked.entry.client_address} and its network in the last 15 minutes, to any addresses. At most ${codesOfNetwork.most} are.`,
          `The next one is possible after ${wait} seconds. Private addresses are not counted.`,
        ],
        facts: {
          client_address: asked.entry.client_address,
          unused: all,
          most: codesOfNetwork.most,
          retry_after: wait,
        },
        fix: later(asked, wait),
      }
    }
    return {
      sentences: [
        `${plural(unused, 'unused code')} had been mailed to ${email || 'the address'} in the last 15 minutes, and \`limits.codes\` is ${most}.`,
        `The next one is possible after ${wait} seconds. Addresses such as \`ada+code123456@example.test\` have no limit.`,
      ],
      facts: { email, unused, most, retry_after: wait },
      fix: later(asked, wait),
    }
  },

  async too_many_mails(asked) {
    const wait = askedWait(asked, 900)
    const rows = await asked.tx.find(rates, { index: 'byEnd', prefix: [], limit: 50, reverse: true })
    const full = rows.filter(({ times }) => times.length >= 5)
    const user = await userBehind(asked)
    return {
      sentences: [
        `Five messages of one kind went to one person within 15 minutes${user === undefined ? '' : `, on behalf of user:${user}`}.`,
        `The next one is possible after ${wait} seconds.`,
      ],
      facts: {
        retry_after: wait,
        user: user ?? null,
        full_limits: full.map(({ id, times }) => ({ kind: id.split(':')[0], messages: times.length })),
      },
      fix: later(asked, wait),
    }
  },

  async email_unproven(asked) {
    const id = callerId(asked, 'user')
    const user = id === undefined ? await likelyUser(asked) : await asked.tx.get(users, id)
    return {
      sentences: [
        `${user?.email ?? 'The user'} had never been proven: nobody has entered a code that was mailed there.`,
        ...(user && user.made_by !== null ? [`account:${user.made_by} made the user.`] : []),
        'A sign-in by the sandbox proves the address too.',
      ],
      facts: {
        user: user?.id ?? null,
        email: user?.email ?? null,
        email_verified_at: user?.email_verified_at ?? null,
        made_by: user?.made_by ?? null,
      },
      fix: await signInFirst(asked, user),
    }
  },

  async email_taken(asked) {
    const email = sentText(asked, 'email') ?? ''
    const user = await userByEmail(asked.tx, normalEmail(email))
    const others = (await asked.tx.find(users, { index: 'id', prefix: [], limit: 3, reverse: true })).map(
      (each) => each.email,
    )
    return {
      sentences: [
        ...(user
          ? [
              `user:${user.id} has the address ${user.email} since ${timeText(user.created_at)}${user.made_by === null ? '' : `, made by account:${user.made_by}`}.`,
            ]
          : []),
        'Use another address, or let that user sign in.',
      ],
      facts: { email, user: user?.id ?? null, created_at: user ? timeText(user.created_at) : null, newest: others },
      fix: corrected(asked, { body: { email: email.replace('@', `+${asked.entry.id.slice(-8).toLowerCase()}@`) } }),
    }
  },

  async account_creation_refused(asked) {
    return {
      sentences: [
        'The service was created with `accountCreation: false`, so nobody can create accounts over the interface. A seed can.',
      ],
      facts: { accountCreation: asked.service.accountCreation },
      fix: {
        operation_id: 'seedSandbox',
        example: { method: 'POST', path: '/_sandbox/seed', body: { accounts: [{ name: 'Shop' }] } },
        next: null,
      },
    }
  },

  account_creation_failed: undone('account'),
  provisioning_failed: undone('account, twin and user'),
} satisfies Explainers

const TRIES = 5

/** Something that failed inside the service and left nothing behind. */
function undone(what: string) {
  return async (asked: RefusedRequest) => ({
    sentences: [
      `The transaction that creates the ${what} was undone. It ran ${plural(asked.entry.storage.transactions, 'transaction')} and caused ${asked.entry.caused.length === 0 ? 'nothing' : plural(asked.entry.caused.length, 'effect')}.`,
      ...(asked.entry.fault ? [] : ['The log of the service has the cause. Repeat the request.']),
    ],
    facts: { storage: asked.entry.storage, caused: asked.entry.caused },
    fix: corrected(asked, {}),
  })
}

/** The codes that were mailed to the address of a request, the newest first. */
async function codesOf(asked: RefusedRequest) {
  const email = normalEmail(sentText(asked, 'email') ?? '')
  const codes = await asked.tx.find(signInCodes, { index: 'byEmail', prefix: [email], limit: 20, reverse: true })
  return { email, codes }
}

/** The code in the last mail to an address, which the outbox of the sandbox shows too. */
async function mailedCode({ tx }: RefusedRequest, email: string): Promise<string | undefined> {
  const mails = await tx.find(outbox, { index: 'byToAndKind', prefix: [email, 'mail'], limit: 5, reverse: true })
  const texts = mails.map(({ text }) => /Your code is (\d{6})/.exec(text)?.[1])
  return texts.find((code) => code !== undefined)
}

/** Asks for a new code, which the outbox shows, and then verifies it in the session that asked. */
const newCodeFirst = (asked: RefusedRequest, email: string): Fix =>
  first(
    asked,
    'sendSessionCode',
    { method: 'POST', path: '/v4/session/code', body: { email } },
    again(asked, { headers: { 'x-session-id': '{x-session-id}' } }),
  )
