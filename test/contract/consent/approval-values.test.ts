import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { newBusiness, requestChange } from '../../support/scenes/account-changes.js'
import { newAgentShop, requestApproval } from '../../support/scenes/approvals.js'
import { newItem, WEATHER } from '../../support/scenes/catalog.js'
import { newSession } from '../../support/scenes/world.js'

/** A page as people read it. */
const wordsOf = (html: string): string =>
  html
    .replace(/<style>.*?<\/style>/gs, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')

/** The page on which a user reads what an app wants to send to a service. */
async function pageFor(start: Parameters<typeof newAgentShop>[0], additionalParams: object): Promise<string> {
  const { call, agent, payer, item } = await newAgentShop(start)
  const wish = { kind: 'paywall', amount: 1, destination: item.hostname, serviceUrl: 'https://api.example.test/' }
  const asked = await requestApproval(call, agent, { ...wish, additionalParams })
  expect(asked.status).toBe(201)
  const session = await newSession(call, payer.email)
  return (await call('GET', `/approvals/${asked.body.approval_id}`, { session })).text
}

contract('the page of an approval', (start) => {
  it('shows each value in words: what is empty, yes and no, lists and fields', async () => {
    const words = wordsOf(
      await pageFor(start, {
        ...{ fast: true, slow: false, nothing: null, blank: '', count: 3 },
        ...{ list: ['x', 'y'], none: [], fields: { of: 'it' }, bare: {} },
      }),
    )
    expect(words).toContain('Sent with it fast : yes slow : no nothing : none blank : empty count : 3')
    expect(words).toContain('list : x y none : none fields : of : it bare : none Answer by')
    expect(words).not.toContain('{')
  })

  it('shows as JSON what is nested too deep to read', async () => {
    expect(await pageFor(start, { a: { b: { c: 1 } } })).toMatch(
      /<pre dir="ltr">\{\n {2}&quot;a&quot;: \{\n {4}&quot;b&quot;: \{\n {6}&quot;c&quot;: 1\n/,
    )
    expect(await pageFor(start, { list: [[1]] })).toContain('<pre dir="ltr">')
    expect(await pageFor(start, { a: { b: 1 } })).not.toContain('<pre')
  })

  it('keeps the lines of a text, and shows the characters that hide in names and values', async () => {
    const page = await pageFor(start, { text: 'one\ntwo', line: 'one two', 'na\u202eme': 'va\u202elue' })
    expect(page).toContain('<pre dir="auto">one\ntwo</pre>')
    expect(page).toContain('<bdi>one two</bdi>')
    expect(wordsOf(page)).toContain('na⟨U+202E⟩me : va⟨U+202E⟩lue')
    expect(page).not.toContain('\u202e')
  })

  it('shows a new value next to the current one, and alone where there is none', async () => {
    const {
      call,
      made: { agent, seller, session },
    } = await startWith(start, newBusiness)
    const item = await newItem(call, seller)
    const shown = async (change: object) => {
      const { body } = await requestChange(call, agent, change)
      return wordsOf((await call('GET', `/approvals/${body.approval_id}`, { session })).text)
    }
    const changed = await shown({
      ...{ kind: 'update_item', catalog_item_id: item.id, description: 'By the minute.', price: 0.5 },
    })
    expect(changed).toContain(
      'What changes Description Now: The weather of a city, by the hour. Becomes: By the minute. Price Now: 0.25 USD Becomes: 0.50 USD Answer by',
    )
    expect(changed).not.toContain('Catalog item id')
    const created = await shown({
      ...{ kind: 'create_item', ...WEATHER, external_endpoint: 'https://api.example.test/weather' },
    })
    expect(created).toContain('What changes Name City weather Description The weather of a city, by the hour.')
    expect(created).toContain('Price 0.25 USD')
    expect(created).not.toContain('Now:')
  })
})
