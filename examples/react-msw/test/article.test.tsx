import { cleanup, render, screen } from '@testing-library/react'
import { userEvent } from '@testing-library/user-event'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { Article } from '../src/article'
import { createMocks } from '../src/mocks'

const server = setupServer()
// MSW 3 has the first name, MSW 2 the second.
const strict = { onUnhandledFrame: 'error', onUnhandledRequest: 'error' } as const
beforeAll(() => server.listen(strict))
afterEach(() => {
  cleanup()
  server.resetHandlers()
})
afterAll(() => server.close())

/** Shows the article. Each test has a service of its own. */
async function open(options: { balance?: number } = {}) {
  const mocks = await createMocks(options)
  server.use(...mocks.handlers)
  render(<Article hash={mocks.article.hash} />)
  const user = userEvent.setup()
  const press = async (name: string) => user.click(await screen.findByRole('button', { name }))
  const signIn = async () => {
    await press('Read on')
    await user.type(await screen.findByLabelText('Email'), 'reader+code123456@example.test')
    await press('Continue')
    await user.type(await screen.findByLabelText('Code'), '123456')
    await press('Verify')
  }
  return { ...mocks, press, signIn }
}

// #region pays
test('a reader signs in, pays and reads on', async () => {
  const { service, seller, press, signIn } = await open()
  await signIn()
  await press('Pay 0.25')
  await screen.findByText('The whole story.')

  const payments = []
  for await (const { amount } of seller.payments.list()) payments.push(amount)
  expect(payments).toEqual([0.25])
  expect((await service.sandbox.ledger()).ok).toBe(true)
})
// #endregion pays

// #region refused
test('a reader with too little pays after funds arrive', async () => {
  const { service, reader, press, signIn } = await open({ balance: 0.1 })
  await signIn()
  await press('Pay 0.25')
  expect((await screen.findByRole('alert')).textContent).toMatch(/balance/)

  await service.sandbox.fund({ hostname: reader.twin.hostname, amount: 1 })
  await press('Pay 0.25')
  await screen.findByText('The whole story.')
})
// #endregion refused
