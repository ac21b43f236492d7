import { EventEmitter } from 'node:events'
import { tmpdir } from 'node:os'
import { expect, onTestFinished, test, vi } from 'vitest'
import { asText } from '../../sandbox/commands/start.js'
import { takeKeys } from '../../sandbox/commands/terminal-keys.js'
import { readSettings } from '../../sandbox/config.js'
import { canReadKeys } from '../../sandbox/keys.js'
import { startSandbox } from '../../sandbox/sandbox.js'

// Whether the tests themselves run in the foreground of a terminal is another matter.
vi.mock('../../sandbox/signals.js', async (original) => ({ ...(await original()), isInForeground: () => true }))

/** A terminal that remembers whether it is raw. */
class Terminal extends EventEmitter {
  isTTY = true
  isRaw = false
  setRawMode(isRaw: boolean) {
    this.isRaw = isRaw
  }
  resume() {}
  pause() {}
}

async function start() {
  const settings = await readSettings({ flags: { memory: true, port: '0' }, environment: {}, directory: tmpdir() })
  const sandbox = await startSandbox(settings, { warn: () => {} })
  onTestFinished(() => sandbox.close())
  let said = ''
  for (const stream of [process.stdout, process.stderr]) {
    const spy = vi.spyOn(stream, 'write').mockImplementation((text) => {
      said += String(text)
      return true
    })
    onTestFinished(() => spy.mockRestore())
  }
  const terminal = new Terminal()
  const copied: string[] = []
  const opened: string[] = []
  const restore = takeKeys(sandbox, `${sandbox.url}/`, {
    input: terminal,
    open: (page) => opened.push(page),
    copy: async (text) => copied.push(text) > 0,
  })
  onTestFinished(restore)
  /** Presses a key, and returns what is printed. */
  const press = async (key: string, expected: RegExp) => {
    said = ''
    terminal.emit('data', Buffer.from(key))
    await expect.poll(() => said).toMatch(expected)
    return said
  }
  const call = (path: string, init?: RequestInit) => fetch(`${sandbox.url}${path}`, init)
  return { sandbox, settings, terminal, restore, press, call, copied, opened, said: () => said }
}

test('the key o opens the workbench', async () => {
  const { sandbox, terminal, opened } = await start()
  terminal.emit('data', 'o')
  await expect.poll(() => opened).toEqual([`${sandbox.url}/`])
})

test('the key e explains the last error, and says if there is none', async () => {
  const { press, call } = await start()
  expect(await press('e', /refused request/)).toMatch(/^farthing: the journal of http:\S+ has no refused request\n$/)
  expect((await call('/v4/account')).status).toBe(401)
  expect(await press('e', /See http/)).toMatch(/GET \/v4\/account → 401 authorization_missing/)
})

test('the key c prints the last code that was mailed, and copies it', async () => {
  const { press, call, copied } = await start()
  await press('c', /^No code was sent yet\./)
  for (const email of ['old@example.test', 'ada@example.test'])
    await call('/v4/session/code', { method: 'POST', body: new URLSearchParams({ email }) })
  const said = await press('c', /ada@example\.test/)
  expect(said).toBe(`${copied[0]} for ada@example.test (copied)\n`)
  expect(copied[0]).toMatch(/^\w{4,}$/)
})

test('the key r resets to the seed after it has asked once', async () => {
  const { press, call, sandbox } = await start()
  const accounts = async () => (await (await call('/_sandbox/rows/accounts')).json()).rows.length
  const before = await accounts()
  expect((await call('/v4/account', { method: 'POST' })).status).toBe(201)
  await press('r', /Press y to reset/)
  await press('x', /^Nothing is reset\.\n$/)
  expect(await accounts()).toBe(before + 1)
  await press('r', /Press y to reset/)
  expect(await press('y', /is reset/)).toBe(`${sandbox.url} is reset to its seed.\n`)
  expect(await accounts()).toBe(before)
})

test.each([
  ['q', 'q'],
  ['Ctrl+C', '\x03'],
])('the key %s stops the sandbox', async (_, key) => {
  const { terminal } = await start()
  const stopped = new Promise((resolve) => process.once('SIGINT', resolve))
  terminal.emit('data', key)
  await stopped
})

test('arrows and pasted texts press no key', async () => {
  const { terminal, opened, said } = await start()
  for (const text of ['\x1b[A', 'rooor']) terminal.emit('data', text)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect([opened, said()]).toEqual([[], ''])
})

test('the terminal is restored at the end, and if the process fails', async () => {
  const before = process.listeners('exit')
  const first = await start()
  expect(first.terminal.isRaw).toBe(true)
  first.restore()
  expect([first.terminal.isRaw, first.terminal.listenerCount('data')]).toEqual([false, 0])
  expect(process.listeners('exit')).toEqual(before)
  const second = await start()
  // Node emits this after an uncaught error too.
  const atExit = process.listeners('exit').filter((listener) => !before.includes(listener))
  for (const listener of atExit) listener.call(process, 1)
  expect(second.terminal.isRaw).toBe(false)
})

test('only a terminal has keys, and a sandbox that may talk names them', async () => {
  const { sandbox, settings } = await start()
  expect(canReadKeys(new Terminal())).toBe(true)
  expect(canReadKeys(Object.assign(new Terminal(), { isTTY: false }))).toBe(false)
  expect(asText(sandbox, settings, { hasKeys: true })).toMatch(/Press o to open .* e to explain .* q to quit\.\n$/)
  expect(asText(sandbox, settings, {})).toMatch(/Press Ctrl\+C to stop\.\n$/)
})

test('the start names every page, and each answers', async () => {
  const { sandbox, settings } = await start()
  const text = asText(sandbox, settings, {})
  const shown = [...text.matchAll(/http:\S+/g)].map(([url]) => url).filter((url) => !url.endsWith('/mcp'))
  const paths = shown.map((url) => new URL(url).pathname)
  for (const path of ['/', '/shop', '/phone', '/outbox', '/docs/errors', '/v4/openapi.json'])
    expect(paths).toContain(path)
  for (const url of shown.filter((each) => new URL(each).pathname !== '/'))
    expect([url, (await fetch(url, { redirect: 'manual' })).status < 400]).toEqual([url, true])
  for (const view of ['live', 'inbox', 'data', 'try', 'break', 'connect']) expect(text).toContain(`/#/${view}`)
})
