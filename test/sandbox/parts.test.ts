import { describe, expect, onTestFinished, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService as createWhole } from '../../src/core.js'
import * as exported from '../../src/parts.js'
import { createService, type Part } from '../../src/slim.js'

const { allParts, ...parts } = exported
const EMAIL = 'ada@example.test'

const created = (create: typeof createService, given?: { parts: Part[] }) => {
  const seed = { users: [{ email: EMAIL, hostname: 'ada.twin.localhost' }] }
  const service = create({ storage: memoryStorage(), sandbox: true, seed, ...given })
  onTestFinished(() => service.close())
  return service
}
type Service = ReturnType<typeof created>

/** What each part is for: it answers if the part is there. */
const uses: Record<Exclude<keyof typeof parts, 'fonts' | 'mcp'>, (service: Service) => Promise<unknown>> = {
  csv: ({ sandbox }) =>
    sandbox.importBinder({ hostname: 'ada.twin.localhost', csv: 'a,b' }).catch((error) => {
      // The part has read it.
      if (error.code !== 'binder_invalid') throw error
    }),
  async explain(service) {
    await service.fetch('/v4/dq')
    const { requests } = await service.sandbox.requests.list()
    return service.sandbox.requests.explain(requests[0]?.id ?? '')
  },
  scriptedAgents: ({ sandbox }) => sandbox.agent({ email: EMAIL }),
  async tools(service) {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    const answer = await service.fetch('/_sandbox/mcp', { method: 'POST', headers, body })
    if (!answer.ok) throw await answer.json()
    return answer.text()
  },
}

const says = (name: string) =>
  `The bundle of this service leaves out the part that answers this. Import ${name} from farthing/parts, and create the service with { parts: [${name}] }.`

test('Each part is exported by its name, and all of them as a list', () => {
  expect(Object.entries(parts).map(([name, part]) => [name, part.name])).toEqual(
    Object.keys(parts).map((name) => [name, name]),
  )
  expect(allParts).toEqual(Object.values(parts))
})

describe.each(Object.entries(uses))('The part %s', (name, use) => {
  test('is named by what is refused without it', async () => {
    const service = created(createService, { parts: allParts.filter((part) => part.name !== name) })
    const { code, status, message, error } = await use(service).then(Object, (refused) => refused)
    expect({ code, status, says: error ?? message }).toEqual({ code: 'not_bundled', status: 501, says: says(name) })
  })

  test('works in a service that is given no other, and in a whole one', async () => {
    const needed = name === 'scriptedAgents' ? [parts.mcp, parts.scriptedAgents] : [parts[name as keyof typeof parts]]
    for (const service of [created(createService, { parts: needed }), created(createWhole)]) await use(service)
  })
})

test('Without MCP, an agent gets the sentence that names it', async () => {
  const service = created(createService, { parts: [parts.scriptedAgents] })
  await expect(service.sandbox.agent({ email: EMAIL })).rejects.toThrow(says('mcp'))
})

test('A fork has the parts of its service', async () => {
  const fork = await created(createService, { parts: [parts.explain] }).sandbox.fork()
  onTestFinished(() => fork.close())
  await uses.explain(fork)
})

test('A service refuses what is no part', () => {
  expect(() => created(createService, { parts: [() => {}] as unknown as Part[] })).toThrow(
    'parts must be a part from farthing/parts, not',
  )
})
