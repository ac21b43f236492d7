import { describe, expect, it, vi } from 'vitest'
import {
  isProblemCode,
  type ProblemCode,
  problemCodes,
  problemSentence,
  problemStatus,
} from '../../../src/base/problem.js'
import type { Explanation } from '../../../src/sandbox/explain/facts/explanation.js'
import { KeptEntry } from '../../../src/sandbox/journal/kept-entry.js'
import { isWhole } from '../../support/how-much.js'
import { newShop } from './scenes/scene.js'
import { excused, scenes } from './scenes/scenes.js'

const codeOf = (name: string): string => name.split(' ')[0] ?? ''

/** What only these scenes answer, of all that `npm test` must see answered. */
const onlyHere = new Set([
  ...[
    'account_creation_failed',
    'change_incomplete',
    'content_type_refused',
    'idempotency_unreadable',
    'internal_error',
  ],
  ...['not_bundled', 'not_loaded', 'provisioning_failed', 'storage_full', 'storage_unavailable', 'too_many_streams'],
])

/** Every second, without other cases of a code, and those that only these scenes provoke. Each in `npm run test:all`. */
const tried = Object.keys(scenes).filter(
  (name, at) => isWhole || onlyHere.has(name) || (at % 2 === 0 && !name.includes('(')),
)

const OTHER_WORDS = { error: 'In other words.', error_description: 'In other words.' }

/** Explains while every refusal has another sentence, as if someone had rewritten it. */
async function inOtherWords<T>(explain: () => Promise<T>): Promise<T> {
  const getterOf = (name: 'response' | 'facts') =>
    Object.getOwnPropertyDescriptor(KeptEntry.prototype, name)?.get ?? expect.unreachable(name)
  const [response, facts] = [getterOf('response'), getterOf('facts')]
  const spies = [
    vi.spyOn(KeptEntry.prototype, 'response', 'get').mockImplementation(function (this: KeptEntry) {
      const { body, ...shown } = response.call(this)
      return { ...shown, body: body?.startsWith('{') ? JSON.stringify({ ...JSON.parse(body), ...OTHER_WORDS }) : body }
    }),
    vi.spyOn(KeptEntry.prototype, 'facts', 'get').mockImplementation(function (this: KeptEntry) {
      const { detail, ...others } = facts.call(this)
      return detail === undefined ? others : { ...others, detail: OTHER_WORDS.error }
    }),
  ]
  return explain().finally(() => {
    for (const spy of spies) spy.mockRestore()
  })
}

/** An explanation without its entry, in which a mark stands for each sentence of the refusal that it quotes. */
function quotesIn({ entry, ...why }: Explanation, { error, error_description = error }: { [name: string]: string }) {
  const own = String(error_description)
    .replace(problemSentence(String(why.facts.code) as ProblemCode), '')
    .trim()
  const said = [String(error_description), own, OTHER_WORDS.error].filter((text) => text !== '')
  const marked = (text: string) => said.reduce((all, part) => all.replaceAll(part, '…'), text)
  return JSON.parse(JSON.stringify(why), (_, value) => (typeof value === 'string' ? marked(value) : value))
}

describe('every error code', () => {
  it('has a scene that provokes it, or an excuse', () => {
    const provoked = new Set(Object.keys(scenes).map(codeOf))
    expect(problemCodes.filter((code) => !provoked.has(code)).sort()).toEqual(Object.keys(excused).sort())
    expect([...provoked].filter((code) => !isProblemCode(code))).toEqual([])
  })

  it.each(tried)('%s is explained by what was so at that moment, and its fix fixes it', async (name) => {
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
    expect(quotesIn(await inOtherWords(() => shop.explained(answer)), answer.body)).toEqual(quotesIn(why, answer.body))
    await meanwhile?.()
    if (why.fix !== null) {
      const fixed = await shop.fixed({ why, sent }, fill ? { fill } : {})
      expect([fixed.status < 400, fixed.text], JSON.stringify(why.fix)).toEqual([true, fixed.text])
    }
    // What has changed since then changes no explanation.
    expect(await shop.explained(answer)).toEqual(why)
  })
})
