import { constants } from 'node:fs'
import { dirname } from 'node:path'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { Files, fileError, type Image } from './files.js'

/** One call that a process makes to the system. */
export interface FileCall {
  /** From 1, in the order in which they are made. */
  readonly number: number
  /** Such as `write` or `rename`. */
  readonly name: string
  readonly path: string
  /** Whether it changes files. */
  readonly changes: boolean
}

/** What goes wrong with a call. A code fails it: half of a write is done before. `short` writes half, and says so. */
export type Fault = 'ENOSPC' | 'EIO' | 'short'

interface Opened {
  readonly inode: number
  readonly path: string
  position: number
}

/** The first number of its file descriptors. */
const FIRST = 1 << 24

/** A disk in memory, as a process sees it through the calls of `node:fs`. */
export class VirtualDisk {
  readonly root: string
  readonly calls: FileCall[] = []
  /** Sees each call before it happens, and says what goes wrong. */
  onCall: (call: FileCall) => Fault | undefined = () => undefined
  /** Runs when half of a write is done. */
  onHalf = () => {}
  readonly #files: Files
  readonly #opened = new Map<number, Opened>()
  #next = FIRST

  constructor(root: string, image?: Image) {
    this.root = root
    this.#files = new Files(image)
    if (!image) this.#files.create(root, true)
  }

  owns(place: unknown): boolean {
    if (typeof place === 'number') return place >= FIRST
    return typeof place === 'string' && (place === this.root || place.startsWith(`${this.root}/`))
  }

  image(): Image {
    return this.#files.image()
  }

  /** How many files the process has open. */
  get openFiles(): number {
    return this.#opened.size
  }

  /** Makes a call that others may overtake. */
  async later<T>(name: string, path: string, act: (fault: Fault | undefined) => T): Promise<T> {
    const fault = this.#begin(name, path)
    if (name === 'sync') await turnOfTheLoop()
    return act(fault)
  }

  /** Makes a call that blocks. */
  now<T>(name: string, path: string, act: (fault: Fault | undefined) => T): T {
    return act(this.#begin(name, path))
  }

  #begin(name: string, path: string): Fault | undefined {
    const call = { number: this.calls.length + 1, name, path, changes: changing.has(name) }
    this.calls.push(call)
    return this.onCall(call)
  }

  exists(path: string, fault?: Fault): boolean {
    fail(fault, path)
    return this.#files.find(path) !== undefined
  }

  get(path: string, fault?: Fault): number {
    fail(fault, path)
    return this.#files.get(path)
  }

  open(path: string, flags: string | number = 'r', fault?: Fault): number {
    fail(fault, path)
    const found = this.#files.find(path)
    const creates = flags === 'w' || flags === 'wx'
    if (flags === 'wx' && found !== undefined) throw fileError('EEXIST', path)
    const inode = found ?? (creates ? this.#files.create(path) : this.#files.get(path))
    if (flags === 'w') this.#files.truncate(inode, 0)
    const number = this.#next++
    this.#opened.set(number, { inode, path, position: 0 })
    return number
  }

  close(descriptor: number, fault?: Fault): void {
    const { path } = this.at(descriptor)
    // The descriptor is gone, whatever the system answers.
    this.#opened.delete(descriptor)
    fail(fault, path)
  }

  /** Throws EBADF. */
  at(descriptor: number): Opened {
    const opened = this.#opened.get(descriptor)
    if (!opened) throw fileError('EBADF', String(descriptor))
    return opened
  }

  read(
    descriptor: number,
    target: Uint8Array,
    place: { length: number; position: number | null },
    fault?: Fault,
  ): number {
    const opened = this.at(descriptor)
    fail(fault, opened.path)
    const { content } = this.#files.inode(opened.inode)
    const start = place.position ?? opened.position
    const bytes = content.subarray(start, start + place.length)
    target.set(bytes)
    if (place.position === null) opened.position += bytes.length
    return bytes.length
  }

  /** Returns how many bytes are written. */
  write(descriptor: number, bytes: Uint8Array, position: number | null, fault?: Fault): number {
    const opened = this.at(descriptor)
    const half = bytes.length >> 1
    const at = position ?? opened.position
    this.#files.write(opened.inode, at, bytes.subarray(0, half))
    this.onHalf()
    if (fault !== 'short') fail(fault, opened.path)
    if (fault === undefined) this.#files.write(opened.inode, at + half, bytes.subarray(half))
    const written = fault === undefined ? bytes.length : half
    if (position === null) opened.position += written
    return written
  }

  truncate(descriptor: number, length: number, fault?: Fault): void {
    const { inode, path } = this.at(descriptor)
    fail(fault, path)
    this.#files.truncate(inode, length)
  }

  sync(descriptor: number, fault?: Fault): void {
    const { inode, path } = this.at(descriptor)
    if (fault !== undefined && fault !== 'short') this.#files.failSync(inode)
    fail(fault, path)
    this.#files.sync(inode)
  }

  stat(number: number) {
    const { content, isDirectory } = this.#files.inode(number)
    return {
      size: content.length,
      dev: 1n,
      ino: BigInt(number),
      isFile: () => !isDirectory,
      isDirectory: () => isDirectory,
    }
  }

  readFile(path: string, fault?: Fault): Buffer {
    fail(fault, path)
    return Buffer.from(this.#files.inode(this.#files.get(path)).content)
  }

  readdir(path: string, fault?: Fault): string[] {
    fail(fault, path)
    this.#files.get(path)
    return this.#files.namesIn(path)
  }

  /** Returns the outermost directory that it made. */
  mkdir(path: string, fault?: Fault): string | undefined {
    fail(fault, path)
    if (this.#files.find(path) !== undefined) return undefined
    const outer = path === this.root ? undefined : this.mkdir(dirname(path))
    this.#files.create(path, true)
    return outer ?? path
  }

  rename(from: string, to: string, fault?: Fault): void {
    fail(fault, to)
    this.#files.rename(from, to)
  }

  link(from: string, to: string, fault?: Fault): void {
    fail(fault, to)
    this.#files.link(from, to)
  }

  copyFile(from: string, to: string, mode = 0, fault?: Fault): void {
    fail(fault, to)
    const found = this.#files.find(to)
    if (found !== undefined && mode & constants.COPYFILE_EXCL) throw fileError('EEXIST', to)
    const { content } = this.#files.inode(this.#files.get(from))
    const copy = found ?? this.#files.create(to)
    this.#files.truncate(copy, 0)
    this.#files.write(copy, 0, content)
  }

  rm(path: string, { force = false }: { force?: boolean } = {}, fault?: Fault): void {
    fail(fault, path)
    if (!force || this.#files.find(path) !== undefined) this.#files.remove(path)
  }
}

const changing = new Set(['open', 'write', 'truncate', 'sync', 'rename', 'link', 'copyFile', 'rm', 'mkdir'])

function fail(fault: Fault | undefined, path: string): void {
  if (fault !== undefined && fault !== 'short') throw fileError(fault, path)
}
