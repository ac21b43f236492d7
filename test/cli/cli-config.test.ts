import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readSettings, type Sources, settings } from '../../sandbox/config.js'
import { optionsOf } from '../../src/options.js'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'farthing-'))
})
afterEach(() => rm(directory, { recursive: true }))

const config = (content: unknown, name = 'farthing.config.json') =>
  writeFile(join(directory, name), typeof content === 'string' ? content : JSON.stringify(content))
const read = (sources: Partial<Sources> = {}) => readSettings({ flags: {}, environment: {}, directory, ...sources })

const KEY = '0f'.repeat(32)

const defaults = {
  port: 4242,
  host: '127.0.0.1',
  data: '.farthing/data.json',
  database: undefined,
  seed: 'demo',
  baseUrl: undefined,
  clock: undefined,
  evidence: 'designed',
  balances: 'quantity',
  twinDomain: undefined,
  accountCreation: undefined,
  chargeOnUpstreamError: false,
  encryptionKey: undefined,
  limits: undefined,
  import: undefined,
  exportOnExit: undefined,
  controlToken: undefined,
  allowOrigins: [],
  allowHosts: [],
  allowUpstream: [],
  trustProxy: false,
  journalEntries: undefined,
  journalBytes: undefined,
  json: false,
  open: false,
}

describe('settings', () => {
  test('have defaults', async () => {
    expect(await read()).toEqual(defaults)
  })

  test('come from flags, then the environment, then the config file, then defaults', async () => {
    await config({ port: 1, host: 'file', seed: 'file.json', evidence: 'observed' })
    const environment = { FARTHING_PORT: '2', FARTHING_HOST: 'environment', FARTHING_SEED: 'environment.json' }
    const flags = { port: '3', host: 'flag' }
    expect(await read({ environment, flags })).toEqual({
      ...defaults,
      port: 3,
      host: 'flag',
      seed: 'environment.json',
      evidence: 'observed',
    })
  })

  test('each have an environment variable', async () => {
    const environment = {
      FARTHING_PORT: '0',
      FARTHING_HOST: '::1',
      FARTHING_DATA: 'd.json',
      FARTHING_SEED: 'none',
      FARTHING_BASE_URL: 'https://pay.example.test',
      FARTHING_CLOCK: 'manual',
      FARTHING_BALANCES: 'smallest',
      FARTHING_EVIDENCE: 'documented',
      FARTHING_TWIN_DOMAIN: 'twin.example.test',
      FARTHING_ACCOUNT_CREATION: 'no',
      FARTHING_CHARGE_ON_UPSTREAM_ERROR: 'true',
      FARTHING_ENCRYPTION_KEY: KEY,
      FARTHING_LIMIT: 'codes=20, newPerDay=1000',
      FARTHING_IMPORT: 'i.json',
      FARTHING_EXPORT_ON_EXIT: 'e.json',
      FARTHING_CONTROL_TOKEN: 'a-token',
      FARTHING_ALLOW_ORIGIN: 'http://shop.test:8080, https://shop.test',
      FARTHING_ALLOW_HOST: 'box,box.test:4242',
      FARTHING_ALLOW_UPSTREAM: 'api,10.0.0.0/8,fd00::/8',
      FARTHING_TRUST_PROXY: '1',
      FARTHING_JOURNAL_ENTRIES: '0',
      FARTHING_JOURNAL_BYTES: '1000000',
      FARTHING_JSON: '1',
      FARTHING_OPEN: 'yes',
    }
    expect(await read({ environment })).toEqual({
      port: 0,
      host: '::1',
      data: 'd.json',
      database: undefined,
      seed: 'none',
      baseUrl: 'https://pay.example.test',
      clock: 'manual',
      evidence: 'documented',
      balances: 'smallest',
      twinDomain: 'twin.example.test',
      accountCreation: false,
      chargeOnUpstreamError: true,
      encryptionKey: KEY,
      limits: { codes: 20, newPerDay: 1000 },
      import: 'i.json',
      exportOnExit: 'e.json',
      controlToken: 'a-token',
      allowOrigins: ['http://shop.test:8080', 'https://shop.test'],
      allowHosts: ['box', 'box.test:4242'],
      allowUpstream: ['api', '10.0.0.0/8', 'fd00::/8'],
      trustProxy: true,
      journalEntries: 0,
      journalBytes: 1_000_000,
      json: true,
      open: true,
    })
    expect(await read({ environment: { FARTHING_MEMORY: 'true' } })).toEqual({ ...defaults, data: undefined })
  })

  test('name one place for the state, which the strongest source decides', async () => {
    const [flag, variable] = ['postgres://flag.example.test/a', 'postgres://variable.example.test/b']
    await config({ data: 'file.json' })
    const environment = { FARTHING_DATABASE: variable }
    expect(await read({ environment })).toEqual({ ...defaults, data: undefined, database: variable })
    expect(await read({ environment, flags: { database: flag } })).toMatchObject({ database: flag })
    expect(await read({ environment, flags: { data: 'd.json' } })).toEqual({ ...defaults, data: 'd.json' })
    expect(await read({ environment, flags: { memory: true } })).toEqual({ ...defaults, data: undefined })
    await config({ database: variable })
    expect(await read({ apart: true })).toMatchObject({ data: undefined, database: undefined })
    for (const other of [{ data: 'd.json' }, { memory: true }])
      await expect(read({ flags: { database: flag, ...other } })).rejects.toThrow(
        /^--(data|memory) and --database contradict each other: set only one of them$/,
      )
  })

  test('have every option of a service, but for ports, which are code', () => {
    // The command has every part.
    const others: Record<string, readonly string[]> = {
      ...{ sandbox: [], parts: [] },
      journal: ['journalEntries', 'journalBytes'],
    }
    const isPort = (option: object) => 'expects' in option && /^an object with \w+\(\)/.test(String(option.expects))
    const known = Object.entries(optionsOf.createService)
    expect(known.filter(([, option]) => isPort(option)).length).toBeGreaterThan(5)
    const named = known.filter(([, option]) => !isPort(option)).flatMap(([name]) => others[name] ?? [name])
    expect(named.filter((name) => !(name in settings))).toEqual([])
  })

  test('that are limits are an object in a config file, and names with numbers elsewhere', async () => {
    await config({ limits: { codes: 3 } })
    expect(await read()).toMatchObject({ limits: { codes: 3 } })
    expect(await read({ flags: { limit: ['queue=5', 'codes=4'] } })).toMatchObject({ limits: { queue: 5, codes: 4 } })
    for (const wrong of ['codes', 'codes=many', 'code=3', '=3', 'codes=3.5'])
      await expect(read({ flags: { limit: [wrong] } })).rejects.toThrow(/^--limit must be a name and a whole number/)
  })

  test('never repeat the URL of a database, which may hold a password', async () => {
    await config({ database: ['postgres://u:secret@db.example.test/a'] })
    await expect(read()).rejects.toThrow(
      /^"database" in farthing.config.json must be the URL of a PostgreSQL database$/,
    )
  })

  test('that are lists come from the strongest source that sets them', async () => {
    await config({ allowOrigins: ['http://shop.test'], allowUpstream: ['10.0.0.1'] })
    expect(await read()).toEqual({ ...defaults, allowOrigins: ['http://shop.test'], allowUpstream: ['10.0.0.1'] })
    const flags = { allowOrigin: ['http://a.test', 'null'] }
    expect((await read({ flags, environment: { FARTHING_ALLOW_ORIGIN: 'http://b.test' } })).allowOrigins).toEqual([
      'http://a.test',
      'null',
    ])
  })

  test.each([
    ['controlToken', '--control-token', ['a b', 'a;b', 'a,b', 'é', 'x'.repeat(257)]],
    [
      'allowOrigin',
      '--allow-origin',
      ['*', 'shop.test', 'http://', 'http://a/b', 'http://u@a', 'http://*.a.test', 'a b', '//a'],
    ],
    [
      'allowHost',
      '--allow-host',
      ['*', '*.a.test', 'http://a', 'a/b', 'a:x', 'a:99999', 'u@a', 'a b', '.', '::1', '256.1.1.1'],
    ],
    [
      'allowUpstream',
      '--allow-upstream',
      ['*', '10.0.0.0/33', '10.0.0/8', '10.0.0.0/', 'http://a', 'a/8', 'a:80', '..', '256.1.1.1', '::1/129'],
    ],
  ])('refuse a wrong %s in one line', async (attribute, flag, wrong) => {
    for (const value of wrong) {
      const flags = { [attribute]: attribute === 'controlToken' ? value : [value] }
      await expect(read({ flags })).rejects.toThrow(new RegExp(`^${flag} must be a?[^\\n]*, not "[^\\n]*"$`))
    }
  })

  test.each([
    ['journalEntries', '--journal-entries must be a whole number of entries, where 0 keeps none, not '],
    ['journalBytes', '--journal-bytes must be a whole number of bytes, such as 64000000, not '],
  ])('refuse a wrong %s in one line', async (name, says) => {
    for (const wrong of ['64MB', '-1', '1.5', '1e3', 'none', '9007199254740993'])
      await expect(read({ flags: { [name]: wrong } })).rejects.toThrow(says)
    for (const wrong of ['5', -1, 1.5, true, null]) {
      await config({ [name]: wrong })
      await expect(read()).rejects.toThrow(`"${name}" in farthing.config.json must be a whole number of `)
    }
    await config({ [name]: 5 })
    expect(await read({ flags: { [name]: '7' } })).toEqual({ ...defaults, [name]: 7 })
  })

  test('use PORT if there is no FARTHING_PORT', async () => {
    expect((await read({ environment: { PORT: '7' } })).port).toBe(7)
    expect((await read({ environment: { PORT: 'x', FARTHING_PORT: '8' } })).port).toBe(8)
    expect((await read({ environment: { PORT: '7', FARTHING_PORT: '' } })).port).toBe(7)
  })

  test('choose between memory and a data file by the strongest source that sets either', async () => {
    await config({ memory: true })
    expect((await read()).data).toBeUndefined()
    expect((await read({ environment: { FARTHING_DATA: 'e.json' } })).data).toBe('e.json')
    expect((await read({ environment: { FARTHING_DATA: 'e.json' }, flags: { memory: true } })).data).toBeUndefined()
    expect((await read({ environment: { FARTHING_MEMORY: '1' }, flags: { data: 'f.json' } })).data).toBe('f.json')
    expect((await read({ environment: { FARTHING_MEMORY: '0' } })).data).toBe('.farthing/data.json')
  })

  test('of exec use only flags and FARTHING_ variables for what could touch another sandbox', async () => {
    await config({ port: 1, data: 'd.json', seed: 'none' })
    const apart = { ...defaults, port: 0, data: undefined, seed: 'none' }
    expect(await read({ apart: true, environment: { PORT: '7' } })).toEqual(apart)
    expect(await read({ apart: true, environment: { FARTHING_PORT: '8' } })).toEqual({ ...apart, port: 8 })
    expect(await read({ apart: true, flags: { data: 'f.json' } })).toEqual({ ...apart, data: 'f.json' })
  })
})

describe('the config file', () => {
  test('may be YAML', async () => {
    await config('# ours\nport: 5\nseed:\n  accounts:\n    - name: A\n', 'farthing.config.yaml')
    expect(await read()).toEqual({ ...defaults, port: 5, seed: { accounts: [{ name: 'A' }] } })
  })

  test('may be empty', async () => {
    await config('', 'farthing.config.yaml')
    expect(await read()).toEqual(defaults)
  })

  test('is refused with the reason if it cannot be read', async () => {
    const refused = async (content: unknown, message: RegExp | string, name?: string) => {
      await config(content, name)
      await expect(read()).rejects.toThrow(message)
    }
    await refused('port: 1', 'farthing.config.json is not JSON: ')
    await refused([], 'farthing.config.json must contain an object of settings')
    await refused({ prot: 1 }, 'unknown setting "prot" in farthing.config.json. Did you mean "port"?')
    await refused({ colour: 1 }, 'unknown setting "colour" in farthing.config.json. Choose from port, ')
    await refused({ port: '1' }, '"port" in farthing.config.json must be a number from 0 to 65535, not "1"')
    await refused(
      { allowOrigins: 'x' },
      '"allowOrigins" in farthing.config.json must be a list, each element an origin such',
    )
    await refused({ memory: 'no' }, '"memory" in farthing.config.json must be true or false, not "no"')
    await refused(
      { memory: true, data: 'd.json' },
      '"memory" in farthing.config.json and "data" in farthing.config.json',
    )
    await refused(
      { seed: { accounts: [{}] } },
      '"seed" in farthing.config.json: accounts[0].name is missing: it must be a string',
    )
    await refused(
      { seed: { acounts: [] } },
      '"seed" in farthing.config.json: acounts is not a field. Did you mean "accounts"?',
    )
    await refused('a: [', /^found both farthing\.config\.json and farthing\.config\.yaml/, 'farthing.config.yaml')
    await rm(join(directory, 'farthing.config.json'))
    await refused('a: [', /^farthing\.config\.yaml is not YAML: [^\n]+$/, 'farthing.config.yaml')
  })
})
