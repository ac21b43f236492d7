import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { format } from 'node:util'
import { expect, it, vi } from 'vitest'
import { scratchFolder } from '../support/docs/folder.js'
import { blockTestedBy } from '../support/docs/markdown.js'
import { startStripe } from '../support/stripe/stripe-fake.js'

const scratch = scratchFolder()

it('docs/guides/cards.md charges cards by Stripe', async () => {
  const stripe = await startStripe()
  const asked = /stripeCards\(\{ apiKey: process\.env\.STRIPE_API_KEY \}\)/
  const example = blockTestedBy('test/docs/stripe-block.test.ts', 'docs/guides/cards.md', 'farthing/stripe')
  expect(example).toMatch(asked)
  const file = join(scratch(), 'cards.js')
  await writeFile(file, example.replace(asked, `stripeCards(${JSON.stringify(stripe.options)})`))
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  try {
    await import(/* @vite-ignore */ file)
    expect(log.mock.calls.map((given) => format(...given))).toEqual(['5', 'card_declined'])
    expect(stripe.charged()).toHaveLength(1)
  } finally {
    log.mockRestore()
    await stripe.close()
  }
})
