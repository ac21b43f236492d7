import { type StdioOptions, spawn } from 'node:child_process'
import { open } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { howMuch } from '../support/how-much.js'
import { setUp } from '../support/set-up.js'

/** What becomes of a command when nobody takes what it prints. */

beforeAll(setUp)
const command = join(import.meta.dirname, '../../dist/cli/farthing.js')
const EXEC = ['exec', '--', process.execPath, '-e', 'setTimeout(() => process.exit(7), 300)']

/** Runs a command whose output goes to a full device, or into a pipe that nobody reads any more. */
async function ended(args: readonly string[], lost: 'stdout' | 'stderr', how: 'full' | 'closed') {
  const full = how === 'full' ? await open('/dev/full', 'w') : undefined
  const [stdout, stderr] = [lost === 'stdout' ? full?.fd : undefined, lost === 'stderr' ? full?.fd : undefined]
  const stdio: StdioOptions = ['ignore', stdout ?? 'pipe', stderr ?? 'pipe']
  const child = spawn(process.execPath, [command, ...args], { stdio, env: { ...process.env, PORT: '0' } })
  onTestFinished(() => void child.kill('SIGKILL'))
  if (!full) child[lost]?.destroy()
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (said += text))
  const code = await new Promise((resolve) => child.once('close', resolve))
  await full?.close()
  return { code, said }
}

/** How output is lost. */
const ways: ('full' | 'closed')[] = ['full', 'closed']

test.each(howMuch(ways.slice(0, 1), ways))('exec ends like its command where stderr is %s', async (how) => {
  expect(await ended(EXEC, 'stderr', how)).toEqual({ code: 7, said: '' })
})

/** What commander prints, and what a command prints. */
const few = [['--help'], ['completion', 'bash']]

test.each(howMuch(few, [...few, ['openapi'], ['explain', 'nonce_used']]))(
  '%s says in one line that a full disk took nothing, and ends with 1',
  async (...args) => {
    const { code, said } = await ended(args, 'stdout', 'full')
    expect(said).toMatch(/^farthing: cannot write the output: ENOSPC[^\n]+\n$/)
    expect(code).toBe(1)
    expect(await ended(args, 'stdout', 'closed')).toEqual({ code: 0, said: '' })
  },
)

test('a refusal still ends with 2 where stderr is lost', async () => {
  for (const how of howMuch(ways.slice(1), ways))
    expect(await ended(['start', '--port', 'abc'], 'stderr', how)).toMatchObject({ code: 2 })
})

describe('a sandbox goes on', () => {
  const some = [['stdout', 'closed'] as const, ['stderr', 'full'] as const]

  test.each(howMuch(some, [...some, ['stdout', 'full'] as const, ['stderr', 'closed'] as const]))(
    'where %s is %s',
    async (stream, how) => {
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      await new Promise((resolve) => server.close(resolve))
      // Other machines could call it, of which it warns.
      const args = ['start', '--memory', '--port', String(port), '--host', '0.0.0.0']
      const end = ended(args, stream, how)
      const health = async () => (await fetch(`http://127.0.0.1:${port}/_sandbox/health`)).status
      await expect.poll(() => health().catch(() => 0)).toBe(200)
      for (let calls = 0; calls < 5; calls++) {
        await fetch(`http://127.0.0.1:${port}/v4/dq`)
        await new Promise((resolve) => setTimeout(resolve, 60))
      }
      expect(await Promise.race([end, health()])).toBe(200)
    },
  )
})
