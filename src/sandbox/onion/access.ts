import { parsedUrl } from '../../base/text/foreign-url.js'
import type { SandboxAccess } from './context.js'

/**
 * A setting of a sandbox's access. `read` returns undefined for an invalid value, and `expects` completes "must be
 * …".
 */
interface Setting {
  readonly read: (text: string) => string | undefined
  readonly expects: string
}

export const accessSettings = {
  controlToken: {
    // The characters of cookie values (RFC 6265 section 4.1.1).
    read: (text) => (/^[!#-+\--:<-[\]-~]{1,256}$/.test(text) ? text : undefined),
    expects: '1 to 256 visible ASCII characters without double quotes, commas, semicolons and backslashes',
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

/** Reads the settings of who may use a sandbox. Throws a TypeError if a value is invalid. */
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
  if (value === undefined) throw new TypeError(`${name} must be ${expects}, not "${text}"`)
  return value
}

/** An origin in the spelling of browsers. Local files and sandboxed frames have the origin `null`. */
function originOf(text: string): string | undefined {
  const origin = text.trim().toLowerCase().replace(/\/$/, '')
  if (origin === 'null') return origin
  const [, scheme = '', host = ''] = /^([a-z][a-z\d+.-]*):\/\/(.+)$/.exec(origin) ?? []
  if (hostOf(host) === undefined) return undefined
  return /^https?$/.test(scheme) ? new URL(origin).origin : origin
}

const HOST = /^(\[[\da-f:.]+\]|(?:[a-z\d_-]+\.)*[a-z\d_-]+)\.?(:\d{1,5})?$/

/** A host in lower case, with its port if it has one. */
function hostOf(text: string): string | undefined {
  const [, name = '', port = ''] = HOST.exec(text.trim().toLowerCase()) ?? []
  const url = `http://${name}${port}`
  const parsed = name === '' ? undefined : parsedUrl(url)
  return parsed && parsed.hostname + port
}
