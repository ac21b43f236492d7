import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { expectProblem, UNKNOWN_DQ } from '../../support/scenes/market.js'
import { newUser } from '../../support/scenes/world.js'

const points = { name: 'Points', shortcode: 'PTS', shortdescription: 'Loyalty points, whole ones.', decimals: 0 }

contract('listDigitalQuantities', (start) => {
  it('GET /v4/dq lists hashes and names, without credentials', async () => {
    const { call } = await start()
    const { status, body } = await call('GET', '/v4/dq')
    expect(status).toBe(200)
    const [dq] = body.digital_quantities
    expect(body).toEqual({
      digital_quantities: [dq],
      metadata: { [dq]: { name: 'US Dollar', shortcode: 'USD', shortdescription: expect.any(String), decimals: 3 } },
    })
  })

  it('a hash is 41 and the SHA-256 of the canonical JSON of the defining schema', async () => {
    const { call } = await start({ seed: { digital_quantities: [points] } })
    // By RFC 8785 the keys are in order: decimals, name, shortcode, shortdescription.
    const { decimals, name, shortcode, shortdescription } = points
    const canonical = JSON.stringify({ decimals, name, shortcode, shortdescription })
    const hash = `41${createHash('sha256').update(canonical).digest('hex')}`
    const { body } = await call('GET', '/v4/dq')
    expect(body.digital_quantities[1]).toBe(hash)
    expect(body.metadata[hash]).toEqual({ name, shortcode, shortdescription, decimals })
  })

  it("lists the service's default first, then the others in order of creation", async () => {
    const { call } = await start({ seed: { digital_quantities: [points] } })
    await call('POST', '/_sandbox/seed', { body: { digital_quantities: [{ name: 'Euro', shortcode: 'EUR' }] } })
    const { digital_quantities, metadata } = (await call('GET', '/v4/dq')).body
    const codes = digital_quantities.map((dq: string) => metadata[dq].shortcode)
    expect(codes).toEqual(['USD', 'PTS', 'EUR'])
  })

  it('may be cached, and may be read by any page', async () => {
    const { call } = await start()
    const { headers } = await call('GET', '/v4/dq', { headers: { origin: 'https://shop.example.test' } })
    expect(headers.get('cache-control')).toBe('no-cache')
    expect(headers.get('access-control-allow-origin')).toBe('https://shop.example.test')
  })

  it('ignores credentials', async () => {
    const { call } = await start()
    expect((await call('GET', '/v4/dq', { token: 'nonsense', session: 'nonsense' })).status).toBe(200)
  })
})

contract('listTwinQuantities', (start) => {
  it("GET /v2/twin/dq lists the hashes that the service's twins accept", async () => {
    const { call } = await start({ seed: { digital_quantities: [points] } })
    const { digital_quantities } = (await call('GET', '/v4/dq')).body
    expect(digital_quantities).toHaveLength(2)
    expect(digital_quantities).not.toContain(UNKNOWN_DQ)
    const { status, body } = await call('GET', '/v2/twin/dq')
    expect(status).toBe(200)
    expect(body).toEqual({ digital_quantities })
  })
})

contract('the twin that issues a digital quantity', (start) => {
  it('is the only twin that nothing can be issued to', async () => {
    const {
      call,
      state,
      made: { token, hostname },
    } = await startWith(start, newUser, { balance: 1 })
    const json = { headers: { accept: 'application/json' }, token }
    const [{ issuer }] = (await call('GET', `/v4/twin/${hostname}/inventory`, json)).body
    const before = (await state()).rows
    const answer = await call('POST', '/_sandbox/fund', { body: { hostname: issuer, amount: 1 } })
    expectProblem(answer, 422, 'same_twin')
    expect((await state()).rows).toEqual(before)
  })
})
