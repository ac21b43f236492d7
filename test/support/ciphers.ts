import { createCipheriv, createDecipheriv, KeyObject } from 'node:crypto'

const TAG_BYTES = 16

type Cipher = (params: AesGcmParams, key: CryptoKey, bytes: Uint8Array) => ArrayBufferLike

/** AES-256-GCM as WebCrypto has it, without a thread that must wake up for it: it takes longer to wake than to work. */
export const atOnce: Readonly<Record<'encrypt' | 'decrypt', Cipher>> = {
  encrypt({ iv, additionalData }, key, bytes) {
    const cipher = createCipheriv('aes-256-gcm', KeyObject.from(key), iv as Uint8Array)
    cipher.setAAD(additionalData as Uint8Array)
    return Uint8Array.from(Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()])).buffer
  },
  decrypt({ iv, additionalData }, key, bytes) {
    const decipher = createDecipheriv('aes-256-gcm', KeyObject.from(key), iv as Uint8Array)
    decipher.setAAD(additionalData as Uint8Array)
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    return Uint8Array.from(Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()])).buffer
  },
}
