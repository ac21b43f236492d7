import { describe, expect, it } from 'vitest'
import { isProblemCode, problemCodes, problemStatus } from '../../../src/base/problem.js'
import { newShop } from './scenes/scene.js'
import { excused, scenes } from './scenes/scenes.js'

const codeOf = (name: string): string => name.split(' ')[0] ?? ''

describe('every error code', () => {
  it('has a scene that provokes it, or an excuse', () => {
    const provoked = new Set(Object.keys(scenes).map(codeOf))
    expect(problemCodes.filter((code) => !provoked.has(code)).sort()).toEqual(Object.keys(excused).sort())
    expect([...provoked].filter((code) => !isProblemCode(code))).toEqual([])
  })

  it.each(Object.keys(scenes))('%s is explained by what was so at that moment, and its fix fixes it', async (name) => {
    const scene = scenes[name]
    const code = codeOf(name)
    if (!scene || !isProblemCode(code)) throw new Error(`no scene: ${name}`)
    const shop = await newShop(scene)
    const { request, facts, says, fix, meanwhile, fill } = await scene.provoke(shop)
    const { answer, sent } = await request
    const why = await shop.explained(answer)
    expect(why.facts.code, answer.text).toBe(code)
    expect(why.verdict).toContain(`was refused with ${answer.status} ${code}: `)
    expect(answer.status).toBe(problemStatus(code))
    expect(why.docs).toBe(`${shop.service.baseUrl}/docs/errors/${code}`)
    expect(why.facts, JSON.stringify(why.facts)).toMatchObject(facts)
    for (const text of says) expect(why.sentences.join(' ')).toContain(text)
    const shown = JSON.stringify(why)
    for (const secret of [...shop.secrets, sent.session]) if (secret) expect(shown).not.toContain(secret)
    expect(why.fix === null, shown).toBe(fix === 'none')
    await meanwhile?.()
    if (why.fix !== null) {
      const fixed = await shop.fixed({ why, sent }, fill ? { fill } : {})
      expect([fixed.status < 400, fixed.text], JSON.stringify(why.fix)).toEqual([true, fixed.text])
    }
    // What has changed since then changes no explanation.
    expect(await shop.explained(answer)).toEqual(why)
  })
})
