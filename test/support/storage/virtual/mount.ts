import fs, { type NoParamCallback } from 'node:fs'
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import type { Fault, VirtualDisk } from './disk.js'

type Act = (...args: any[]) => unknown

/** Sends all calls of `node:fs` for files of the disk to it, in this process, while the body runs. */
export async function withMounted<T>(disk: VirtualDisk, body: () => Promise<T>): Promise<T> {
  const unmount = [
    replace(promises, disk, laterCalls(disk)),
    replace(fs, disk, { ...blockingCalls(disk), fsync: sync(disk), fdatasync: sync(disk) }),
  ]
  syncBuiltinESMExports()
  try {
    return await body()
  } finally {
    for (const undo of unmount) undo()
    syncBuiltinESMExports()
  }
}

/** Returns what puts the functions of the module back. */
function replace(module: object, disk: VirtualDisk, calls: Record<string, Act>): () => void {
  const functions = module as Record<string, Act>
  const before = Object.keys(calls).map((name): [string, Act] => [name, functions[name] as Act])
  for (const [name, original] of before)
    functions[name] = (...args) => (disk.owns(args[0]) ? calls[name]?.(...args) : original(...args))
  return () => {
    for (const [name, original] of before) functions[name] = original
  }
}

const encoded = (bytes: Buffer, encoding: unknown): Buffer | string => (encoding === 'utf8' ? bytes.toString() : bytes)

/** The functions of `node:fs/promises` that a file storage calls. */
function laterCalls(disk: VirtualDisk): Record<string, Act> {
  return {
    access: (path) => disk.later('access', path, (fault) => void disk.get(path, fault)),
    realpath: (path) =>
      disk.later('realpath', path, (fault) => {
        disk.get(path, fault)
        return path
      }),
    stat: (path) => disk.later('stat', path, (fault) => disk.stat(disk.get(path, fault))),
    readFile: (path, encoding) => disk.later('read', path, (fault) => encoded(disk.readFile(path, fault), encoding)),
    readdir: (path) => disk.later('readdir', path, (fault) => disk.readdir(path, fault)),
    mkdir: (path) => disk.later('mkdir', path, (fault) => disk.mkdir(path, fault)),
    rename: (from, to) => disk.later('rename', to, (fault) => disk.rename(from, to, fault)),
    link: (from, to) => disk.later('link', to, (fault) => disk.link(from, to, fault)),
    copyFile: (from, to, mode) => disk.later('copyFile', to, (fault) => disk.copyFile(from, to, mode, fault)),
    rm: (path, options) => disk.later('rm', path, (fault) => disk.rm(path, options, fault)),
    open: (path, flags) => disk.later('open', path, (fault) => handleOf(disk, disk.open(path, flags, fault))),
  }
}

/** A `FileHandle` of `node:fs/promises`. */
function handleOf(disk: VirtualDisk, descriptor: number) {
  const { path } = disk.at(descriptor)
  return {
    fd: descriptor,
    close: () => disk.later('close', path, (fault) => disk.close(descriptor, fault)),
    stat: () => disk.later('stat', path, (fault) => statOf(disk, descriptor, fault)),
    truncate: (length = 0) => disk.later('truncate', path, (fault) => disk.truncate(descriptor, length, fault)),
    read: (buffer: Buffer, offset: number, length: number, position: number | null = null) =>
      disk.later('read', path, (fault) => {
        const bytesRead = disk.read(descriptor, buffer.subarray(offset), { length, position }, fault)
        return { bytesRead, buffer }
      }),
    write: (bytes: Buffer, offset: number, length: number, position: number | null = null) =>
      disk.later('write', path, (fault) => {
        const bytesWritten = disk.write(descriptor, bytes.subarray(offset, offset + length), position, fault)
        return { bytesWritten, buffer: bytes }
      }),
    // Node writes until everything is written.
    writeFile: (content: string | Uint8Array) =>
      disk.later('write', path, (fault) => writeAll(disk, descriptor, content, fault)),
  }
}

function statOf(disk: VirtualDisk, descriptor: number, fault: Fault | undefined) {
  const { inode, path } = disk.at(descriptor)
  if (fault !== undefined) disk.get(path, fault)
  return disk.stat(inode)
}

function writeAll(disk: VirtualDisk, descriptor: number, content: string | Uint8Array, fault: Fault | undefined): void {
  const bytes = Buffer.from(content as string)
  const written = disk.write(descriptor, bytes, null, fault)
  if (written < bytes.length) disk.write(descriptor, bytes.subarray(written), null)
}

/** The functions of `node:fs` that call back when they have synced a file. */
const sync =
  (disk: VirtualDisk): Act =>
  (descriptor: number, done: NoParamCallback) =>
    disk.later('sync', disk.at(descriptor).path, (fault) => disk.sync(descriptor, fault)).then(() => done(null), done)

/** The functions of `node:fs` that block. */
function blockingCalls(disk: VirtualDisk): Record<string, Act> {
  const pathOf = (descriptor: number) => disk.at(descriptor).path
  return {
    openSync: (path, flags) => disk.now('open', path, (fault) => disk.open(path, flags, fault)),
    closeSync: (descriptor) => disk.now('close', pathOf(descriptor), (fault) => disk.close(descriptor, fault)),
    fsyncSync: (descriptor) => disk.now('sync', pathOf(descriptor), (fault) => disk.sync(descriptor, fault)),
    writeFileSync: (descriptor, content) =>
      disk.now('write', pathOf(descriptor), (fault) => writeAll(disk, descriptor, content, fault)),
    renameSync: (from, to) => disk.now('rename', to, (fault) => disk.rename(from, to, fault)),
    mkdirSync: (path) => disk.now('mkdir', path, (fault) => disk.mkdir(path, fault)),
    readdirSync: (path) => disk.now('readdir', path, (fault) => disk.readdir(path, fault)),
    readFileSync: (path, encoding) => disk.now('read', path, (fault) => encoded(disk.readFile(path, fault), encoding)),
    rmSync: (path, options) => disk.now('rm', path, (fault) => disk.rm(path, options, fault)),
    // Answers that it is missing if it cannot be read, as Node does.
    existsSync: (path) => disk.now('access', path, (fault) => fault === undefined && disk.exists(path)),
    // A timer calls it, so it is in no order.
    statSync: (path) => (disk.exists(path) ? disk.stat(disk.get(path)) : undefined),
  }
}
