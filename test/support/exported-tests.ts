import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { createService, type ServiceOptions } from '../../src/index.js'
import { caller } from './api.js'
import { setUp } from './set-up.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Secrets in the text of an answer. */
const SECRET = /"(?:access_token|refresh_token|client_secret|nonce|session_id|token|key)":"([^"]{12,})"/g

const formats = ['vitest', 'curl', 'http', 'har'] as const

/** A sandbox whose requests are exported. */
export function exportingSandbox(options: ServiceOptions = {}, { hasStrays = false } = {}) {
  const service = createService({ sandbox: true, seed: demo.seed, ...options })
  const ids: string[] = []
  const secrets = new Set<string>()
  const range = (from: number) => ({ from: ids.at(from) ?? '', to: ids.at(-1) ?? '' })
  const plain = caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) })
  const call: typeof plain = async (...given) => {
    const answer = await plain(...given)
    if (!hasStrays) expect(answer.body?.code).not.toBe('no_such_path')
    ids.push(answer.headers.get('x-request-id') ?? '')
    for (const [, secret = ''] of answer.text.matchAll(SECRET)) secrets.add(secret)
    return answer
  }
  const token = async (principal: string) => {
    const value = (await service.sandbox.actAs(principal)).headers.authorization?.slice(7) ?? ''
    secrets.add(value)
    return value
  }
  /** Writes the last request, or those from one of them on. No export has a secret of the sandbox. */
  const exported = async (from = -1) => {
    const [test = '', ...others] = await Promise.all(
      formats.map((format) => service.sandbox.requests.export(range(from), format)),
    )
    const [key] = (await service.sandbox.snapshot()).rows.service_keys ?? []
    if (key && 'value' in key) secrets.add(String(key.value))
    expect(secrets.size).toBeGreaterThan(0)
    for (const text of [test, ...others]) expect([...secrets].filter((secret) => text.includes(secret))).toEqual([])
    await service.close()
    return test
  }
  return {
    ...{ service, call, ids },
    ...{ token, exported },
    /** Why the same cannot be a test. */
    refusal: (from = -1) =>
      service.sandbox.requests.export(range(from), 'vitest').then(
        () => 'nothing',
        ({ code, fields }) => [code, fields.field, ids.indexOf(fields.id) - ids.length],
      ),
  }
}

interface Report {
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly message: string
    readonly assertionResults: readonly { readonly status: string; readonly failureMessages: readonly string[] }[]
  }[]
}

/** Runs exported tests as files of one run of Vitest: how each ended, by its name. */
export async function runExported(texts: Readonly<Record<string, string>>): Promise<Map<string, string>> {
  await setUp()
  const folder = await mkdtemp(join(tmpdir(), 'farthing-exports-'))
  const names = Object.keys(texts)
  for (const [i, name] of names.entries()) await writeFile(join(folder, `${i}.test.ts`), texts[name] ?? '')
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  const config = join(root, 'test/support/exported-tests.config.ts')
  const report = join(folder, 'report.json')
  const args = ['run', '--config', config, '--root', folder, '--reporter=json', `--outputFile=${report}`]
  const { VITEST: _, VITEST_WORKER_ID: __, VITEST_POOL_ID: ___, ...env } = process.env
  // Some fail, so that it exits with 1.
  await promisify(execFile)(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...args], { env }).catch(
    () => {},
  )
  const { testResults }: Report = JSON.parse(await readFile(report, 'utf8'))
  await rm(folder, { recursive: true })
  return new Map(
    testResults.map(({ name: path, status, message, assertionResults }) => {
      const failures = assertionResults.flatMap(({ failureMessages }) => failureMessages)
      const name = names[Number(/(\d+)\.test\.ts$/.exec(path)?.[1])] ?? path
      return [name, [status, message, ...failures].filter(Boolean).join('\n')]
    }),
  )
}
