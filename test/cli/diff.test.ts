import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readSource, type Source } from '../../sandbox/commands/diff/described.js'
import { compareSource } from '../../sandbox/commands/diff.js'
import { routeList, texts } from '../../scripts/route-table.js'
import { openapi } from '../../src/http/openapi/document.js'
import { createService } from '../../src/index.js'
import { cli } from '../support/cli.js'
import { runHere } from '../support/run-here.js'

/** The operations that these tests change or call: to describe all of them takes most of the time of a comparison. */
const named = [
  ...['createPayment', 'listTwins', 'listDigitalQuantities', 'createCommodity'],
  ...['updateAccount', 'createTwin', 'createUser', 'createUserToken'],
]
const table = { routes: routeList.filter(({ id }) => named.includes(id)), texts }

/** What farthing says of itself, which tests change. */
const own = (evidence: 'designed' | 'observed' = 'designed'): any => structuredClone(ownOf(evidence))
const documents = new Map<string, object>()
function ownOf(evidence: 'designed' | 'observed'): object {
  const known = documents.get(evidence)
  const document = known ?? openapi({ ...table, baseUrl: 'http://127.0.0.1:4242', evidence })
  documents.set(evidence, document)
  return document
}

const compared = (document: any) =>
  compareSource({ kind: 'openapi', name: 'their.json', document }, 'designed', table).comparison

describe('another OpenAPI document', () => {
  test('that is our own has no difference, in every evidence mode', () => {
    for (const evidence of ['designed', 'observed'] as const) {
      const source = { kind: 'openapi', name: 'own.json', document: own(evidence) } as const
      const { comparison } = compareSource(source, evidence, table)
      expect(comparison).toMatchObject({ missing: [], extra: [], different: [] })
      expect(comparison.same).toBeGreaterThan(5)
    }
  })

  test('has operations that farthing lacks, and lacks others', () => {
    const document = own()
    document.paths['/v4/tips/{hash}'] = { post: { responses: { 200: { description: 'Done.' } } } }
    delete document.paths['/v4/dq']
    const { missing, extra } = compared(document)
    expect(missing).toEqual([{ method: 'POST', path: '/v4/tips/{hash}', id: null, grade: null }])
    expect(extra).toEqual([{ method: 'GET', path: '/v4/dq', id: 'listDigitalQuantities', grade: 'documented' }])
  })

  test('differs in fields of bodies, queries and answers, and in statuses', () => {
    const document = own()
    const { post } = document.paths['/v4/payment/{hash}']
    const body = post.requestBody.content['application/json']
    body.schema = {
      type: 'object',
      required: ['tip'],
      properties: { tip: { type: 'number' }, cost: { type: 'string' } },
    }
    post.responses['202'].content['application/json'].schema = {
      type: 'object',
      properties: { nonce: { type: 'string' }, timestamp: { type: 'integer' }, receipt: { type: 'string' } },
    }
    post.responses['418'] = { description: 'A teapot.' }
    delete post.responses['402']
    const { get } = document.paths['/v4/twins']
    get.parameters = [{ in: 'query', name: 'limit', required: true, schema: { type: 'integer' } }]
    const { different } = compared(document)
    const differencesOf = (id: string) => different.flatMap((each) => (each.id === id ? each.differences : []))
    const found = differencesOf('createPayment').map(({ kind, in: place, name, grade }) => [kind, place, name, grade])
    expect(found).toContainEqual(['missing', 'body', 'tip', null])
    expect(found).toContainEqual(['different', 'body', 'cost', 'designed'])
    expect(found).toContainEqual(['extra', 'body', 'persona_delegate', 'designed'])
    expect(found).toContainEqual(['missing', 'answer 202', 'receipt', null])
    expect(found).toContainEqual(['extra', 'answer 202', 'payee_hostname', 'designed'])
    expect(found).toContainEqual(['missing', 'status', '418', null])
    expect(found).toContainEqual(['extra', 'status', '402', null])
    expect(different.map(({ id }) => id).sort()).toEqual(['createPayment', 'listTwins'])
    expect(differencesOf('listTwins').map(({ kind, in: place, name }) => [kind, place, name])).toEqual([
      ['different', 'query', 'limit'],
      ['extra', 'query', 'after'],
    ])
  })

  test('of Swagger 2, below a base path, is compared like one of OpenAPI 3', () => {
    const document = {
      swagger: '2.0',
      basePath: '/v2',
      paths: {
        '/commodity/': {
          post: {
            parameters: [{ in: 'body', name: 'body', schema: { $ref: '#/definitions/Commodity' } }],
            responses: { 201: { schema: { $ref: '#/definitions/Commodity' } } },
          },
        },
      },
      definitions: {
        Commodity: {
          type: 'object',
          required: ['cost'],
          properties: { cost: { type: 'number' }, tax: { type: 'number' } },
        },
      },
    }
    const { missing, different } = compared(document)
    expect(missing).toEqual([])
    expect(different.map(({ id, path }) => [id, path])).toEqual([['createCommodity_v2', '/v2/commodity']])
    const found = different.flatMap(({ differences }) =>
      differences.map(({ kind, in: place, name }) => [kind, place, name].join(' ')),
    )
    expect(found).toContain('missing body tax')
    expect(found).toContain('missing answer 201 tax')
    expect(found).not.toContain('different body cost')
  })

  test('may refer to itself, to nothing and to other files', () => {
    const document = own()
    const circle = { $ref: '#/components/schemas/Circle' }
    document.components.schemas.Circle = { type: 'object', properties: { inside: circle, gone: { $ref: '#/nowhere' } } }
    document.components.schemas.Loop = { $ref: '#/components/schemas/Loop' }
    document.paths['/v4/account'].put.requestBody.content = { 'application/json': { schema: circle } }
    document.paths['/v4/twin'].post.requestBody.content = {
      'application/json': { schema: { $ref: '#/components/schemas/Loop' } },
    }
    document.paths['/v4/user'].post.requestBody.content = {
      'application/json': { schema: { $ref: 'other.json#/User' } },
    }
    const { different } = compared(document)
    expect(different.map(({ id }) => id)).toEqual(['updateAccount'])
  })

  test('may have shapes that refer to each other so often that nobody could write them out', () => {
    const document = own()
    const fields = (next: object) => Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`field_${at}`, next]))
    for (let at = 0; at < 20; at++)
      document.components.schemas[`Level${at}`] = {
        type: 'object',
        properties: fields({ $ref: `#/components/schemas/Level${at + 1}` }),
      }
    const schema = { $ref: '#/components/schemas/Level0' }
    document.paths['/v4/account'].put.requestBody.content = { 'application/json': { schema } }
    expect(compared(document).different.map(({ id }) => id)).toEqual(['updateAccount'])
  })
})

describe('a recorded session', () => {
  /** A HAR of calls to a service, with what a recorder of another service would have seen. */
  async function recorded(changed: (path: string, answer: any) => any = (_, answer) => answer) {
    const service = createService({ sandbox: true })
    onTestFinished(() => service.close())
    const { users, commodities } = await service.sandbox.seed({
      accounts: [{ name: 'News' }],
      users: [{ email: 'ada@example.test', balance: 1 }],
      commodities: [{ account: 'News', descriptor: 'NEWS.ARTICLE', cost: 0.25 }],
    })
    const entries: object[] = []
    async function call(
      method: string,
      path: string,
      { headers = {}, body }: { headers?: Record<string, string>; body?: object } = {},
    ) {
      const text = body && JSON.stringify(body)
      const sent = { ...headers, ...(text && { 'content-type': 'application/json' }) }
      const response = await service.fetch(path, { method, headers: sent, ...(text && { body: text }) })
      const answer = await response.json()
      entries.push({
        request: {
          method,
          url: `https://live.example.test/pay${path}`,
          ...(text && { postData: { mimeType: 'application/json', text } }),
        },
        response: {
          status: response.status,
          content: {
            mimeType: 'application/json',
            text: Buffer.from(JSON.stringify(changed(path, answer))).toString('base64'),
            encoding: 'base64',
          },
        },
      })
      return answer
    }
    const [ada] = users
    const basic = `Basic ${btoa(`${ada?.client_id}:${ada?.client_secret}`)}`
    const { access_token } = await call('POST', '/v4/user/oauth/token', { headers: { authorization: basic } })
    const headers = { authorization: `Bearer ${access_token}` }
    await call('GET', '/v4/twins?limit=5', { headers })
    await call('POST', `/v4/payment/${commodities[0]?.hash}`, { headers, body: { cost: 0.25, dq: commodities[0]?.dq } })
    await call('GET', '/v4/twins')
    return entries
  }

  const har = (entries: readonly unknown[]): Source => ({ kind: 'har', name: 'session.har', entries })

  test('of farthing itself shows no difference', async () => {
    const page = {
      request: { method: 'GET', url: 'https://live.example.test/logo.png' },
      response: { status: 200, content: { mimeType: 'image/png' } },
    }
    const { comparison, source } = compareSource(har([...(await recorded()), page, {}]), 'designed', table)
    expect(comparison).toEqual({ same: 3, missing: [], extra: [], different: [] })
    expect(source.skipped).toBe(2)
  })

  test('names the fields, types, statuses and operations that farthing lacks', async () => {
    const entries = await recorded((path, answer) => {
      if (path.startsWith('/v4/payment'))
        return { ...answer, nonce: 7, receipt: { url: 'https://live.example.test/r/1' } }
      if (path.startsWith('/v4/twins?'))
        return { twins: answer.twins.map(({ key: _, ...twin }: any) => twin), next: null }
      return answer
    })
    const tip = {
      request: {
        method: 'POST',
        url: 'https://live.example.test/pay/v4/tips/17?thanks=1',
        postData: { mimeType: 'application/json', text: '{' },
      },
      response: { status: 299, content: { mimeType: 'text/plain', text: 'ok' } },
    }
    const strange = { ...(entries[1] as object), response: { status: 299, content: {} } }
    const { missing, different } = compareSource(har([...entries, tip, strange]), 'designed', table).comparison
    expect(missing).toEqual([{ method: 'POST', path: '/v4/tips/{id}', id: null, grade: null }])
    const differencesOf = (id: string) => different.flatMap((each) => (each.id === id ? each.differences : []))
    expect(differencesOf('createPayment').map(({ kind, name, ours, theirs }) => [kind, name, ours, theirs])).toEqual([
      ['different', 'nonce', 'string', 'integer'],
      ['missing', 'receipt', null, 'object'],
    ])
    expect(differencesOf('listTwins').map(({ kind, in: place, name }) => [kind, place, name])).toEqual([
      ['missing', 'status', '299'],
      ['extra', 'answer 200', 'twins[].key'],
    ])
  })
})

describe('a source', () => {
  const command = cli()
  const run = (args: readonly string[]) => runHere(args, command.directory)

  test('is a file or a URL, in JSON or YAML; the exit code says whether it differs', async () => {
    const yaml =
      'openapi: 3.0.3\npaths:\n  /v4/dq:\n    get:\n      operationId: theirs\n      responses:\n        "200": { description: All. }\n'
    const whole = openapi({ routes: routeList, texts, baseUrl: 'http://127.0.0.1:4242', evidence: 'designed' })
    const server = createServer((req, res) => {
      if (req.url === '/same.json') res.end(JSON.stringify(whole))
      else if (req.url === '/openapi.yaml') res.end(yaml)
      else if (req.url === '/page') res.end('<!doctype html><title>Docs</title>')
      else res.writeHead(404).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const same = await run(['diff', `${base}/same.json`])
    expect([same.code, same.stderr]).toEqual([0, ''])
    expect(same.stdout).toMatch(/the same: \d{3}\. Different: 0\./)
    const other = await run(['diff', `${base}/openapi.yaml`, '--json'])
    expect(other.code).toBe(1)
    expect(JSON.parse(other.stdout)).toMatchObject({ kind: 'openapi', missing: [], evidence: 'designed' })
    const page = await run(['diff', `${base}/page`])
    expect([page.code, page.stdout]).toEqual([2, ''])
    expect(page.stderr).toContain('is neither an OpenAPI document')
    expect((await run(['diff', `${base}/nothing`])).stderr).toContain('answers 404')
  })

  test.each([
    ['{"a": 1}', 'is neither an OpenAPI document'],
    ['[1]', 'is neither an OpenAPI document'],
    ['just a text', 'is neither an OpenAPI document'],
    ['', 'is neither an OpenAPI document'],
    ['{"openapi": "3.1.0"}', 'has no "paths"'],
    ['{"log": {"entries": [{}]}}', 'records no request to the service'],
    ['{"openapi": "4.0.0", "paths": {}}', 'is OpenAPI 4.0.0'],
    ['{"swagger": "1.2", "paths": {}}', 'is OpenAPI 1.2'],
    ['{"openapi": ', 'is not JSON'],
    ['a: [1', 'is not JSON or YAML'],
  ])('%s is refused', async (text, says) => {
    const file = `${command.directory}/their.txt`
    await writeFile(file, text)
    const read = readSource(file).then((source) => compareSource(source, 'designed', table))
    await expect(read).rejects.toThrow(says)
  })

  test('that does not exist is named', async () => {
    const { code, stderr } = await run(['diff', 'missing.json'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('cannot read missing.json: no such file')])
  })
})
