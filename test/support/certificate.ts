import { generateKeyPairSync, sign } from 'node:crypto'

/** DER (X.690): a tag, a length, and the parts. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts)
  const { length } = body
  const counted = length < 128 ? [length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...counted]), body])
}

const list = (...parts: readonly Uint8Array[]) => der(0x30, ...parts)
const named = (hex: string) => der(0x06, Buffer.from(hex, 'hex'))
const text = (tag: number, value: string) => der(tag, Buffer.from(value))

const ECDSA_WITH_SHA256 = list(named('2a8648ce3d040302'))
const COMMON_NAME = named('550403')
const OTHER_NAMES = named('551d11')

/** A certificate (RFC 5280) for `localhost` that only its own key has signed, and that key, in PEM. */
export function selfSigned({ until = '491231235959Z' } = {}): { readonly cert: string; readonly key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = list(der(0x31, list(COMMON_NAME, text(0x0c, 'farthing test'))))
  const names = der(0x04, list(text(0x82, 'localhost')))
  const signed = list(
    ...[der(0xa0, der(0x02, Buffer.from([2]))), der(0x02, Buffer.from([1])), ECDSA_WITH_SHA256, name],
    ...[list(text(0x17, '200101000000Z'), text(0x17, until)), name],
    ...[publicKey.export({ type: 'spki', format: 'der' }), der(0xa3, list(list(OTHER_NAMES, names)))],
  )
  const signature = der(0x03, Buffer.from([0]), sign('sha256', signed, privateKey))
  const lines = list(signed, ECDSA_WITH_SHA256, signature).toString('base64').replace(/.{64}/g, '$&\n')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}
