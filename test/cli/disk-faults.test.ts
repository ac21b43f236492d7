import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { caller } from '../support/api.js'
import { cli, type Sandbox } from '../support/cli.js'
import { newSeller } from '../support/scenes/world.js'
import { startHere } from '../support/start-here.js'

const farthing = cli()
const { run, start } = farthing

const calling = ({ url }: Pick<Sandbox, 'url'>) => caller({ url, fetch, close: async () => {} })
const inDirectory = (file: string) => join(farthing.directory, file)

/** A seed that sells nothing at the sandbox's own address, so that nothing moves at a start. */
const there = ['--data', 'data.json', '--seed', 'seed.json']

/** Leaves a data file, and returns a size at which it cannot grow any more, so that no part of its journal can begin. */
async function fullDisk(seed?: 'seed.json'): Promise<{ readonly largestFileKiB: number }> {
  await writeFile(inDirectory('seed.json'), '{}')
  const first = await startHere({ data: inDirectory('data.json'), ...(seed && { seed: inDirectory(seed) }) })
  await newSeller(calling(first))
  await first.close()
  const { size } = await stat(inDirectory('data.json'))
  return { largestFileKiB: Math.floor(size / 1024) }
}

const onUnix = test.skipIf(process.platform === 'win32')

onUnix('while the disk fails, reads answer, writes say why not, and the health check tells it', async () => {
  const sandbox = await start(there, await fullDisk('seed.json'))
  const call = calling(sandbox)
  expect((await call('GET', '/_sandbox/health')).body).toMatchObject({ ok: true, storage: 'file' })
  const refused = await call('POST', '/v4/account')
  expect([refused.status, refused.body.code]).toEqual([503, 'storage_unavailable'])
  expect(refused.body.error).toContain('Nothing was changed')
  expect(refused.body.error).toContain('Reason: the file is larger than this system allows.')
  expect(refused.text).not.toContain(farthing.directory)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)

  expect((await call('GET', '/v4/dq')).status).toBe(200)
  expect((await call('GET', '/_sandbox/ledger')).body.ok).toBe(true)
  const health = await call('GET', '/_sandbox/health')
  expect(health.status).toBe(503)
  expect(health.body).toMatchObject({
    ok: false,
    fault: 'the file is larger than this system allows',
    name: 'farthing',
    storage: 'file',
    clock: { mode: 'real' },
    evidence: 'designed',
  })
  expect(Object.keys(health.body)).toContain('version')

  const { code, stderr } = await sandbox.stop()
  expect(code).toBe(1)
  expect(stderr.trimEnd().split('\n').at(-1)).toMatch(/^farthing: .*data\.json could not be written \(EFBIG/)
  const again = await startHere({ data: inDirectory('data.json') })
  expect((await calling(again)('POST', '/v4/account')).status).toBe(201)
})

onUnix('exec ends with an error of its own if the command succeeds and the state cannot be stored', async () => {
  const post = 'fetch(process.env.FARTHING_URL + "/v4/account", { method: "POST" }).then((a) => console.log(a.status))'
  const exec = ['exec', ...there, '--', process.execPath, '-e', post]
  const { code, stdout, stderr } = await run(exec, await fullDisk('seed.json'))
  expect(stdout).toBe('503\n')
  expect(stderr).toMatch(/could not be written \(EFBIG/)
  expect(code).toBe(1)
})

onUnix('starts at another address too, and says that what it sells itself did not move there', async () => {
  const sandbox = await start(['--data', 'data.json'], await fullDisk())
  expect((await calling(sandbox)('GET', '/v4/dq')).status).toBe(200)
  expect((await sandbox.stop()).stderr).toContain('Its own items fail until the next start.')
})
