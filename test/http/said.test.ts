import { describe, expect, it } from 'vitest'
import { sellerTools } from '../../src/agents/mcp/tools/tools.js'
import { createService } from '../../src/index.js'
import { plans } from '../../src/market/plans/plan.js'
import { operations } from '../support/contract/operations.js'

/** What the descriptions of an interface must say, because readers looked for it in vain. */

const service = createService({ sandbox: true })
const document = await (await service.fetch('/v4/openapi.json')).json()
await service.close()

const described = (method: string, path: string): string =>
  document.paths[path.replace(/:(\w+)/g, '{$1}')][method.toLowerCase()].description

describe('the description', () => {
  it('of balances names their unit, and the option that changes it', () => {
    const { balances } = document.components.schemas.Twin.properties
    expect(balances.description).toMatch(/in the quantity, .* smallest unit if the option `balances` .* `smallest`/)
  })

  it("of a twin's key says that no operation takes it, and none does", () => {
    expect(document.components.schemas.Twin.properties.key.description).toContain('No operation takes it yet.')
    const ofService = operations.filter(({ route }) => route.scope !== 'sandbox')
    const taken = ofService.filter(({ route }) =>
      Object.keys({ ...route.query?.shape, ...route.body?.shape }).some((name) => /^(twin_)?key$/.test(name)),
    )
    expect(taken.map(({ path }) => path)).toEqual([])
  })

  it('of whatever creates items says how many each plan allows', () => {
    const creating = operations.filter(({ route }) => route.adds === 'catalog_items')
    const texts = [
      ...creating.map(({ route, path }) => described(route.method, path)),
      ...sellerTools.filter(({ name }) => name === 'register_tool').map(({ description }) => description),
    ]
    expect(texts.length).toBe(3)
    const { free, growth } = plans
    for (const text of texts)
      for (const { name, limits } of [free, growth]) expect(text).toContain(`${limits.active_items} in ${name}`)
  })
})
