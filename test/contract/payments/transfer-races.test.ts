import { expect, it } from 'vitest'
import type { Answer } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { expectSoundLedger, setClock } from '../../support/scenes/market.js'
import { askCode, mailedCode, newGuest, verify } from '../../support/scenes/sign-in.js'
import {
  again,
  DAY,
  INVITED,
  inviteByMail,
  newSender,
  transferEvents,
  typesOf,
  walletOf,
} from '../../support/scenes/transfers.js'
import { newSeededUser } from '../../support/scenes/world.js'

const succeeded = (answers: Answer[]) => answers.filter(({ status }) => status === 200)

contract('At the same moment', (start) => {
  it('20 claims and cancels of one invitation settle it once', async () => {
    const { call, payer } = await newSender(start)
    const { id } = await inviteByMail(call, payer)
    const ada = await newSeededUser(call, INVITED)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        n % 2
          ? call('POST', `/v4/transfers/${id}/claim`, { token: ada.token })
          : call('POST', `/v4/transfers/${id}/cancel`, { token: payer.token }),
      ),
    )
    const [settled, ...others] = succeeded(answers)
    expect(others).toEqual([])
    // Whoever comes after a cancellation finds what they were sent no more.
    for (const { body } of answers.filter(({ status }) => status !== 200)) expect(body.code).toBe('transfer_settled')
    const isClaimed = settled?.body.status === 'completed'
    expect([await walletOf(call, payer), await walletOf(call, ada)]).toEqual(isClaimed ? [7.5, 2.5] : [10, 0])
    expect(typesOf(await transferEvents(call, payer))).toHaveLength(2)
    await expectSoundLedger(call)
  })

  it('claims, cancels and the end of an invitation settle it once', async () => {
    const { call, at, payer } = await newSender(start)
    const { id } = await inviteByMail(call, payer)
    const ada = await newSeededUser(call, INVITED)
    await setClock(call, at + 30 * DAY - 1000)
    const [sender, claimant] = [await again(call, payer), await again(call, ada)]
    const [, ...answers] = await Promise.all([
      setClock(call, at + 30 * DAY),
      ...Array.from({ length: 20 }, (_, n) =>
        n % 2
          ? call('POST', `/v4/transfers/${id}/claim`, { token: claimant.token })
          : call('POST', `/v4/transfers/${id}/cancel`, { token: sender.token }),
      ),
    ])
    expect(succeeded(answers).length).toBeLessThanOrEqual(1)
    const { status } = (await call('GET', `/v4/transfers/${id}`, { token: sender.token })).body
    expect(status).toBe(succeeded(answers)[0]?.body.status ?? 'expired')
    const isClaimed = status === 'completed'
    expect([await walletOf(call, sender), await walletOf(call, claimant)]).toEqual(isClaimed ? [7.5, 2.5] : [10, 0])
    expect(typesOf(await transferEvents(call, sender))).toHaveLength(2)
    await expectSoundLedger(call)
  })

  it('signing up and cancelling settle an invitation once', async () => {
    const { call, payer } = await newSender(start)
    const { id } = await inviteByMail(call, payer)
    const session = await newGuest(call)
    await askCode(call, session, INVITED)
    const code = await mailedCode(call, INVITED)
    const [signedIn, ...cancels] = await Promise.all([
      verify(call, session, INVITED, code),
      ...Array.from({ length: 10 }, () => call('POST', `/v4/transfers/${id}/cancel`, { token: payer.token })),
    ])
    expect(signedIn?.status).toBe(200)
    const isCancelled = succeeded(cancels).length === 1
    expect(succeeded(cancels).length).toBeLessThanOrEqual(1)
    const wallets = [await walletOf(call, payer), await walletOf(call, { session: signedIn?.body.session_id })]
    expect(wallets).toEqual(isCancelled ? [10, 0] : [7.5, 2.5])
    await expectSoundLedger(call)
  })
})
