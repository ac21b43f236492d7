import { expect, test } from 'vitest'
import { closedButton, factsOf, heading, textOf } from '../../support/browser/embed-html.js'
import { contract, type Started } from '../../support/contract/contract.js'
import { expectProblem, UNKNOWN_COMMODITY } from '../../support/scenes/market.js'
import { defaultDq, newCommodity, newSeller, newTwin, type Seller } from '../../support/scenes/world.js'

contract('embedPayback', (start) => {
  /** A commodity of an account's, that pays its readers. */
  async function newPayback({ call }: Started, seller?: Seller) {
    const { token } = seller ?? (await newSeller(call))
    const { id, hostname } = await newTwin(call, token)
    const body = { descriptor: 'NEWS.CONSENT', dq: await defaultDq(call), cost: 0.25, twin_id: id, payback: true }
    return { hash: (await call('POST', '/v4/commodity', { token, body })).body.hash as string, hostname }
  }

  async function opened(query: Record<string, string> = {}) {
    const started = await start()
    const commodity = await newPayback(started)
    const { status, text } = await started.call(
      'GET',
      `/v4/payback/embed/${commodity.hash}?${new URLSearchParams(query)}`,
    )
    expect(status).toBe(200)
    return { ...started, ...commodity, html: text }
  }

  const consents = async (consent: unknown): Promise<string[]> => {
    const { html } = await opened({ consent: typeof consent === 'string' ? consent : JSON.stringify(consent) })
    return [...html.matchAll(/<li>(.*?)<\/li>/gs)].map(([, inner = '']) => inner)
  }

  test('shows who pays what, under every version that clients use', async () => {
    const { call, hash, hostname, html } = await opened({ leading: 'Earn', middle: 'for', trailing: 'it' })
    expect(closedButton(html)).toBe('Earn 0.25 USD for it')
    expect(heading(html)).toBe(hostname)
    expect(textOf(html)).toContain(`${hostname}NEWS.CONSENTYou get 0.25 USD`)
    expect(html).toContain(`<title>Get 0.25 USD from ${hostname}</title>`)
    expect(html).toContain('value="go">Allow<')
    expect(factsOf(html)).toEqual({ hash, dq: expect.stringMatching(/^41/), price: '0.25', shortcode: 'USD' })
    const older = await call('GET', `/v3/payback/embed/${hash}?decimalPoints=1`)
    expect(closedButton(older.text)).toBe('Get 0.3 USD')
    expect(older.headers.get('content-security-policy')).toContain('frame-ancestors *')
  })

  test.each([
    ['a text', JSON.stringify('You may write to me.'), ['You may write to me.']],
    ['a bare text', 'You may write to me.', ['You may write to me.']],
    ['texts', ['One.', ' Two. '], ['One.', 'Two.']],
    ['a text with a title', { title: 'Mail', text: 'Once a week.' }, ['<strong>Mail</strong>\nOnce a week.']],
    ['a title, and a text alone', [{ title: 'Mail' }, { text: 'Weekly.' }], ['<strong>Mail</strong>', 'Weekly.']],
    ['markup', '"<b onclick=x>&</b>"', ['&lt;b onclick=x>&amp;&lt;/b>']],
    ['what is no text', [7, null, [], '', { title: 7, text: {} }, 'One.'], ['One.']],
    ['too many', Array(21).fill('x'), Array(20).fill('x')],
  ])('asks for consent to %s', async (_, consent, shown) => {
    expect(await consents(consent)).toEqual(shown)
  })

  test('refuses more texts than it can store', async () => {
    const [long = ''] = await consents([{ title: 'T'.repeat(3000), text: 'x' }])
    expect(textOf(long)).toBe('T'.repeat(1999))
    const [both = ''] = await consents([{ title: 'Title', text: 'x'.repeat(3000) }])
    expect(both.replace(/<[^>]*>/g, '')).toHaveLength(2000)
  })

  test('asks for no consent if the page has no texts', async () => {
    const { html } = await opened()
    expect(html).not.toContain('In return you allow')
  })

  test('shows a page if there is no payback', async () => {
    const started = await start()
    const { call } = started
    const seller = await newSeller(call)
    const sold = await newCommodity(call, seller)
    const { hash } = await newPayback(started, seller)
    const refusals = [
      [`/v4/payback/embed/${UNKNOWN_COMMODITY}`, 404, 'not_found', 'This is not available.'],
      [`/v3/payback/embed/${sold.hash}`, 409, 'payback_refused', 'This is for sale. It does not pay its users.'],
      [`/v2/embed/${hash}`, 409, 'payback_only', 'This is not for sale. It pays its users.'],
    ] as const
    for (const [path, status, code, notice] of refusals) {
      const answer = await call('GET', path)
      expect([answer.status, textOf(answer.text)]).toEqual([status, expect.stringContaining(notice)])
      expectProblem(await call('GET', path, { headers: { accept: 'application/json' } }), status, code)
    }
  })
})
