import { expect, test } from 'vitest'
import { closedButton, factsOf, heading, textOf } from '../../support/browser/embed-html.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { expectProblem } from '../../support/scenes/market.js'
import { defaultDq, newSeller, newTwin } from '../../support/scenes/world.js'

contract('embedVerify', (start) => {
  async function opened(query: Record<string, string> = {}, persona: object = {}) {
    const started = await start()
    const { call } = started
    const { token } = await newSeller(call)
    const { id, hostname } = await newTwin(call, token)
    const body = { name: 'Press pass', description: 'Given to reporters.', twin_id: id, ...persona }
    const { hash } = (await call('POST', '/v4/persona', { token, body })).body
    const { status, text } = await call('GET', `/v4/verify/embed/${hash}?${new URLSearchParams(query)}`)
    expect(status).toBe(200)
    return { ...started, hash, hostname, html: text }
  }

  test('shows what is verified and who gives it, under every version that clients use', async () => {
    const { call, hash, hostname, html } = await opened({ middle: 'to', trailing: 'enter' })
    expect(closedButton(html)).toBe('Verify Press pass to enter')
    expect(heading(html)).toBe('Press pass')
    expect(textOf(html)).toContain(`Press pass${hostname}Given to reporters.`)
    expect(html).toContain('<title>Verify Press pass</title>')
    expect(factsOf(html)).toEqual({ hash, name: 'Press pass' })
    const older = await call('GET', `/v3/verify/embed/${hash}?leading=Show your&theme=dark`)
    expect(closedButton(older.text)).toBe('Show your Press pass')
    expect(older.text).toContain('data-theme="dark"')
    expect(older.headers.get('content-security-policy')).toContain('frame-ancestors *')
  })

  test('takes the range of delegates that a page asks for, where it is of whole numbers', async () => {
    const range = async (issueMin: string, issueMax: string) => {
      const { 'issue-min': min, 'issue-max': max } = factsOf((await opened({ issueMin, issueMax })).html)
      return [min, max]
    }
    expect(await range('1', '20')).toEqual(['1', '20'])
    expect(await range('0', '1.5')).toEqual(['0', undefined])
    expect(await range('first', '-1')).toEqual([undefined, undefined])
    expect(await range('', '"><img src=x>')).toEqual([undefined, undefined])
  })

  test('escapes every text', async () => {
    const evil = `"><img src=x onerror=alert(1)>`
    const { html } = await opened({ leading: evil, trailing: evil }, { name: evil, description: evil })
    expect(html).not.toContain('<img')
    expect(heading(html)).toBe(evil)
    expect(closedButton(html)).toBe(`${evil} ${evil} ${evil}`)
  })

  test('asks for what a page may be told: no delegate by which a publishable secret spends', {
    tags: 'everywhere',
  }, async () => {
    const {
      call,
      made: { publicSecret, token },
    } = await startWith(start, newSeller)
    const twin = await newTwin(call, token)
    const { hash } = (await call('POST', '/v4/persona', { token, body: { name: 'Press pass', twin_id: twin.id } })).body
    const give = async (body: object) =>
      (await call('POST', `/v4/persona/${hash}/delegate`, { token, body: { hostname: twin.hostname, ...body } })).body
        .hash
    const spend = { party: { public_secret: publicSecret }, dq: await defaultDq(call), limit: 1 }
    const [plain, bearer] = [await give({}), await give({ spend })]
    const seen = async (query: string, as: object) =>
      (await call('GET', `/v4/persona/${hash}/verify?twin_id=${twin.id}${query}`, as)).body.instances
    expect(await seen('', { token })).toEqual([plain, bearer])
    expect(await seen('&disclosable=true', { token })).toEqual([plain])
    // Not even by the publishable secret of the account whose persona it is.
    expect(await seen(`&public_secret=${publicSecret}`, {})).toEqual([plain])
  })

  test('is a page that says so where nothing is to be verified', async () => {
    const { call } = await start()
    const answer = await call('GET', '/v3/verify/embed/unknown')
    expect([answer.status, textOf(answer.text)]).toEqual([
      404,
      expect.stringContaining('There is nothing to verify here.'),
    ])
    const json = { headers: { accept: 'application/json' } }
    expectProblem(await call('GET', '/v4/verify/embed/unknown', json), 404, 'not_found')
  })
})
