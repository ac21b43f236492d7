import { randomBytes, randomUUID } from 'node:crypto'
import { link, open, rm } from 'node:fs/promises'
import { exists, PRIVATE, replaceFile } from '../adapters/storage/file/disk.js'
import { readIfThere } from './document.js'
import { Refusal } from './refusal.js'

/** A state's key stands beside it, wherever it goes: 32 bytes in hex, for the user that runs the process only. */
export const keyFileOf = (file: string): string => `${file}.key`

export const newKey = (): string => randomBytes(32).toString('hex')

/** The key beside a state, or undefined where there is none. Throws `Refusal` where the file holds no key. */
export async function readKey(file: string): Promise<string | undefined> {
  const text = (await readIfThere(keyFileOf(file)))?.trim()
  if (text === undefined || /^[0-9a-f]{64}$/.test(text)) return text
  throw new Refusal(`${keyFileOf(file)} does not hold a key of 64 hex digits: restore it from a backup`)
}

/**
 * The key of a data file, made where neither was there before. Throws `Refusal` for data whose key is missing:
 * under another one, what was sealed could not be read, nor what was derived be shown again.
 */
export async function settleKey(file: string): Promise<string> {
  // In this order: another process that begins in this moment makes its key first.
  const hasState = await exists(file)
  const known = await readKey(file)
  if (known !== undefined) return known
  if (hasState)
    throw new Refusal(
      `${keyFileOf(file)} is missing, the key that ${file} was written under: restore it from a backup, or give the ` +
        'data a new one with --new-key (client secrets and twin keys that were shown before cannot be shown again)',
    )
  return makeKey(file)
}

/** Makes a key, or takes the one that another process has made meanwhile. */
export async function makeKey(file: string): Promise<string> {
  const own = await writeAside(file, newKey())
  try {
    await link(own, keyFileOf(file))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Some file systems have no links; none of those is shared by processes that begin at once.
    if (code !== 'EEXIST') await replaceFile(own, keyFileOf(file))
  } finally {
    await rm(own, { force: true })
  }
  return (await readKey(file)) as string
}

/** Puts a key in the place of what was there. */
export async function placeKey(file: string, key: string): Promise<void> {
  await replaceFile(await writeAside(file, key), keyFileOf(file))
}

async function writeAside(file: string, key: string): Promise<string> {
  const aside = `${keyFileOf(file)}.${randomUUID()}`
  const handle = await open(aside, 'wx', PRIVATE)
  try {
    await handle.writeFile(`${key}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  return aside
}
