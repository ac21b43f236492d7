import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Served, serve } from '../../adapters/node.js'
import type { FetchSource } from '../../src/core.js'
import { type Host, startHost } from '../support/browser/host.js'
import { conformanceCommand } from '../support/mcp/conformance-suite.js'
import { startFixtures } from '../support/mcp/mcp-fixtures.js'
import { newAgent } from '../support/scenes/oidc.js'

const revisions = ['2025-11-25', '2026-07-28'] as const
type Revision = (typeof revisions)[number]

/**
 * Scenarios in which the server asks the client for something in the middle of a call by a request of its own, or which need a
 * session. A server that keeps nothing between messages has neither; from 2026-07-28 on the client comes again instead.
 */
const ofSessions = [
  'tools-call-sampling',
  'tools-call-elicitation',
  'elicitation-sep1034-defaults',
  'server-sse-multiple-streams',
  'elicitation-sep1330-enums',
]

/** Scenarios that call tools, prompts and resources by names of the suite's own, in both revisions. */
const named = [
  'completion-complete',
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-error',
  'tools-call-with-progress',
  'resources-read-text',
  'resources-read-binary',
  'resources-templates-read',
  'prompts-get-simple',
  'prompts-get-with-args',
  'prompts-get-embedded-resource',
  'prompts-get-with-image',
]

/** What cannot pass: at the service's own server, and at the one that has what the suite names. */
const failing: Record<Revision, { own: string[]; fixtures: string[] }> = {
  '2025-11-25': {
    // The service has nothing to subscribe to where no stream is open.
    own: [...named, ...ofSessions, 'tools-call-with-logging', 'resources-subscribe', 'resources-unsubscribe'],
    fixtures: ofSessions,
  },
  '2026-07-28': {
    own: [
      ...named,
      'server-stateless',
      'input-required-result-basic-elicitation',
      'input-required-result-basic-sampling',
      'input-required-result-basic-list-roots',
      'input-required-result-request-state',
      'input-required-result-multiple-input-requests',
      'input-required-result-multi-round',
      'input-required-result-missing-input-response',
      'input-required-result-non-tool-request',
      'input-required-result-result-type',
      'input-required-result-tampered-state',
      'input-required-result-capability-check',
      'input-required-result-ignore-extra-params',
    ],
    fixtures: [],
  },
}

let host: Host
let folder: string
const open: Served[] = []
beforeAll(async () => {
  host = await startHost()
  folder = await mkdtemp(join(tmpdir(), 'farthing-conformance-'))
})
afterAll(async () => {
  for (const served of open) await served.close()
  await host.close()
  await rm(folder, { recursive: true })
})

/** The service's own server, in front of which each request gets an agent's token: the suite sends none. */
async function startOwn(): Promise<Served> {
  const { accessToken } = await newAgent(host.call)
  const withToken = (headers: NonNullable<FetchSource['headers']>) => ({
    get: (name: string) => (name === 'authorization' ? `Bearer ${accessToken}` : headers.get(name)),
    has: (name: string) => name === 'authorization' || headers.has(name),
    keys: () => headers.keys(),
  })
  return serve(
    {
      respond: (request, source) =>
        host.service.respond(request, { ...source, headers: withToken(source.headers ?? request.headers) }),
    },
    { port: 0 },
  )
}

/** Runs what a revision requires; scenarios that are expected to fail must, so that none stays in the list once it passes. */
async function run([command, suite]: [string, string], url: string, revision: Revision, expected: readonly string[]) {
  const baseline = join(folder, `${revision}-${expected.length}.yaml`)
  await writeFile(baseline, JSON.stringify({ server: expected }))
  const args = ['server', '--url', url, '--requirements', revision, '--expected-failures', baseline]
  const child = spawn(command, [suite, ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (piece: string) => {
      output += piece
    })
  return new Promise<{ code: number | null; output: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, output })),
  )
}

describe.each(revisions)('the server scenarios of %s', (revision) => {
  test("pass at /mcp, except those that call the suite's own tools", async (context) => {
    const suite = await conformanceCommand(context)
    const own = await startOwn()
    open.push(own)
    const { code, output } = await run(suite, `${own.url}/mcp`, revision, failing[revision].own)
    expect(code, output).toBe(0)
  })

  test("pass at a server with the same wiring and the suite's own tools", async (context) => {
    const suite = await conformanceCommand(context)
    const fixtures = await startFixtures()
    open.push(fixtures)
    const { code, output } = await run(suite, `${fixtures.url}/mcp`, revision, failing[revision].fixtures)
    expect(code, output).toBe(0)
  })
})
