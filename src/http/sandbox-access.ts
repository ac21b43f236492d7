import type { SandboxAccess } from './context.js'

/** A setting of who may reach a sandbox: how one value is read, undefined where it is wrong, and what it must be. */
interface Setting {
  readonly read: (text: string) => string | undefined
  readonly expects: string
}

export const accessSettings = {
  controlToken: {
    // What a cookie can hold (RFC 6265 section 4.1.1).
    read: (text) => (/^[!#-+\--:<-[\]-~]{1,256}$/.test(text) ? text : undefined),
    expects: '1 to 256 visible ASCII characters without quotes, commas, semicolons and backslashes',
  },
  allowOrigins: {
    read: originOf,
    expects: 'an origin such as https://shop.example.test:8080, without a path, or null',
  },
  allowHosts: { read: hostOf, expects: 'a host such as sandbox or sandbox.example.test:4242' },
} satisfies Record<string, Setting>

export interface AccessOptions {
  readonly controlToken?: string | undefined
  readonly allowOrigins?: readonly string[] | undefined
  readonly allowHosts?: readonly string[] | undefined
}

/** Throws a TypeError where a value is wrong. */
export function sandboxAccess({ controlToken, allowOrigins = [], allowHosts = [] }: AccessOptions): SandboxAccess {
  return {
    controlToken: controlToken === undefined ? undefined : checkedSetting('controlToken', controlToken),
    allowOrigins: allowOrigins.map((text) => checkedSetting('allowOrigins', text)),
    allowHosts: allowHosts.map((text) => checkedSetting('allowHosts', text)),
  }
}

function checkedSetting(name: keyof typeof accessSettings, text: string): string {
  const { read, expects } = accessSettings[name]
  const value = read(text)
  if (value === undefined) throw new TypeError(`${name} takes ${expects}, not "${text}"`)
  return value
}

/** As browsers write it. Pages of files and sandboxed frames are of the origin `null`. */
function originOf(text: string): string | undefined {
  const origin = text.trim().toLowerCase().replace(/\/$/, '')
  if (origin === 'null') return origin
  const [, scheme = '', host = ''] = /^([a-z][a-z\d+.-]*):\/\/(.+)$/.exec(origin) ?? []
  if (hostOf(host) === undefined) return undefined
  return /^https?$/.test(scheme) ? new URL(origin).origin : origin
}

const HOST = /^(\[[\da-f:.]+\]|(?:[a-z\d_-]+\.)*[a-z\d_-]+)\.?(:\d{1,5})?$/

/** In lower case, with its port where it has one. */
function hostOf(text: string): string | undefined {
  const [, name = '', port = ''] = HOST.exec(text.trim().toLowerCase()) ?? []
  const url = `http://${name}${port}`
  return name !== '' && URL.canParse(url) ? new URL(url).hostname + port : undefined
}
