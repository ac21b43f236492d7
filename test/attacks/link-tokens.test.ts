import { expect, onTestFinished, test } from 'vitest'
import * as z from 'zod/mini'
import { routeList } from '../../scripts/route-table.js'
import { redactLinks } from '../../src/base/text/redacted.js'
import { collections } from '../../src/collections.js'
import { markOf } from '../../src/http/fields/marks.js'
import { createService } from '../../src/index.js'
import { KeptMessage } from '../../src/sandbox/journal/kept-entry.js'
import { learnMarks } from '../../src/sandbox/journal/marked-names.js'
import { redact } from '../../src/sandbox/journal/redact.js'

learnMarks(routeList, collections)

/** Links whose token gives a right, and fields that hold one: every place is known, also of operations to come. */

const TOKEN = 'Ab1_'.repeat(10)
const HEX = '0123456789abcdef'.repeat(2)

/** Paths with a parameter that is marked as a secret, and its name. */
const linkPaths = routeList.flatMap(({ path, params, versions }) =>
  Object.entries(params?.shape ?? {}).flatMap(([name, schema]) =>
    markOf(schema, 'isSecret')
      ? (versions ?? [undefined]).map((version) => [version ? `/${version}${path}` : path, name] as const)
      : [],
  ),
)

test('each secret parameter of a path is hidden wherever the path stands', () => {
  expect(linkPaths.length).toBeGreaterThan(5)
  for (const [path, name] of linkPaths)
    for (const token of [TOKEN, HEX, `co_${HEX}`, encodeURIComponent(TOKEN).replace('A', '%41')]) {
      const filled = path.replace(`:${name}`, token)
      const url = `https://a.example.test${filled}?step=1`
      const encoded = encodeURIComponent(url)
      const texts = [filled, url, encoded, encodeURIComponent(encoded), JSON.stringify({ url }), `see ${url}, please`]
      for (const text of [...texts, JSON.stringify({ url }).replaceAll('/', '\\/')]) {
        expect(redactLinks(text), text).not.toContain(token.slice(0, 12))
        expect(redactLinks(text), text).not.toContain(token.slice(-12))
      }
      expect(redactLinks(filled)).toBe(path.replace(`:${name}`, '[redacted]'))
    }
})

test.each([
  '/v4/transfers/12/claim',
  '/v4/checkout/refunds/3/settle',
  '/v4/checkout',
  'see docs/guides/checkout.md',
  '{"path":"/checkout/{token}"}',
])('leaves %s as it is', (text) => {
  expect(redactLinks(text)).toBe(text)
})

/** Names of fields that look like secrets and are none. */
const PUBLIC_FIELDS = ['public_secret', 'public_key', 'idempotency_key', 'shortcode']

test('each field of an operation whose name says secret is hidden', () => {
  const fields = new Set<string>()
  const collect = (schema: unknown): void => {
    if (Array.isArray(schema)) return schema.forEach(collect)
    if (typeof schema !== 'object' || schema === null) return
    for (const [name, part] of Object.entries(schema)) {
      if (name === 'properties' && typeof part === 'object' && part !== null)
        for (const [field, own] of Object.entries(part)) if (!isFlag(own)) fields.add(field)
      collect(part)
    }
  }
  for (const { body, query, result } of routeList)
    for (const schema of [body, query, result])
      if (schema) collect(z.toJSONSchema(schema as z.core.$ZodType, { unrepresentable: 'any', io: 'input' }))
  const secret = [...fields].filter((name) => /(token|secrets?|password|nonce|codes?|(^|_)key)$/i.test(name))
  expect(secret.length).toBeGreaterThan(12)
  const shows = (name: string) =>
    [redact(JSON.stringify({ [name]: '4711-Value' })), redact(`${name}=4711-Value&b=1`)].some((text) =>
      text.includes('4711'),
    )
  expect(secret.filter((name) => !PUBLIC_FIELDS.includes(name) && shows(name))).toEqual([])
})

const isFlag = (schema: unknown): boolean =>
  typeof schema === 'object' &&
  schema !== null &&
  'type' in schema &&
  ['boolean', 'object'].includes(String(schema.type))

const CUT = 16_384

test.each([
  ['a link in JSON', (token: string) => `{"name":"see https://a.example.test/v4/transfers/${token}/x","b":"y`],
  ['a token', (token: string) => `{"id":1,"nonce":"${token}`],
  ['a token with a quotation mark', (token: string) => `{"id":1,"nonce":"\\"${token}`],
  ['a list of secrets', (token: string) => `{"id":1,"codes":["${token}","${token}`],
  ['JSON in JSON', (token: string) => `{"text_of":"{\\"token\\":\\"${token}\\",\\"x\\":\\"y`],
  ['a form', (token: string) => `a=b&url=https%3A%2F%2Fa.example.test%2Fv4%2Ftransfers%2F${token}`],
  ['a text', (token: string) => `see https://a.example.test/checkout/co_${token}`],
])('the cut of a body leaves no part of %s', (_, written) => {
  const token = TOKEN.slice(0, 40)
  const text = written(token)
  for (let cut = 1; cut <= text.length; cut += 3) {
    const filler = text.startsWith('{') ? `{"f":"${'z'.repeat(CUT - cut - 9)}",` : `f=${'z'.repeat(CUT - cut - 3)}&`
    const body = (text.startsWith('{') ? filler + text.slice(1) : filler + text) + 'z'.repeat(100)
    const shown = new KeptMessage({}, body).show()
    expect(shown.cut).toBe(true)
    expect(shown.body, `cut after ${cut}`).not.toContain('Ab1_')
  }
})

test('every page says that no address is told to others', async () => {
  const service = createService({ sandbox: true })
  onTestFinished(() => service.close())
  const pages = routeList.filter(({ produces }) => produces?.includes('text/html'))
  expect(pages.length).toBeGreaterThan(8)
  for (const { id, path, versions, method } of pages) {
    const at = `${versions?.[0] ? `/${versions[0]}` : ''}${path}`
      .replace(/:id\.(\w+)/, '1.$1')
      .replace(/:(\w+)/g, (_, name) => (name === 'id' && !path.includes('interaction') ? '1' : HEX))
    const answer = await service.fetch(`${at}?token=${TOKEN}`, { method, headers: { accept: 'text/html' } })
    const isPage = answer.headers.get('content-type')?.startsWith('text/html')
    if (isPage) expect(answer.headers.get('referrer-policy'), id).toBe('no-referrer')
    else expect([401, 403, 404, 303, 302], `${id} ${answer.status}`).toContain(answer.status)
  }
})
