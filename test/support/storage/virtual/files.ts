import { basename, dirname } from 'node:path'

/** A file or a directory, whatever its names are. */
interface Inode {
  readonly isDirectory: boolean
  /** What processes read. */
  readonly content: Buffer
  /** What is on the disk. */
  readonly lasting: Buffer
  /** The pages of the content that the next sync writes. */
  readonly dirty: ReadonlySet<number>
}

/** All files at one moment. It does not change any more. */
export interface Image {
  readonly names: ReadonlyMap<string, number>
  /** The names that are on the disk. */
  readonly lastingNames: ReadonlyMap<string, number>
  readonly inodes: ReadonlyMap<number, Inode>
}

/** What of a file a stopped machine keeps, if no sync made sure of it. */
export type Kept = 'everything' | 'names' | 'content' | 'nothing'

const PAGE = 4096
const EMPTY = Buffer.alloc(0)
const CLEAN: ReadonlySet<number> = new Set()

/** An error as `node:fs` throws it. */
export const fileError = (code: string, path: string): Error =>
  Object.assign(new Error(`${code}: this disk says no, '${path}'`), { code, path })

/**
 * The files of a disk in memory. A name is on the disk after a sync of its directory, and content after a sync of its
 * file. A sync that fails forgets its pages, as on Linux: they reach the disk only if someone writes to them again.
 */
export class Files {
  #names = new Map<string, number>()
  #lastingNames = new Map<string, number>()
  #inodes = new Map<number, Inode>()
  #last = 0

  constructor(image?: Image) {
    if (!image) return
    this.#names = new Map(image.names)
    this.#lastingNames = new Map(image.lastingNames)
    this.#inodes = new Map(image.inodes)
    this.#last = Math.max(0, ...image.inodes.keys())
  }

  image(): Image {
    return {
      names: new Map(this.#names),
      lastingNames: new Map(this.#lastingNames),
      inodes: new Map(this.#inodes),
    }
  }

  /** Undefined if there is no such file. */
  find(path: string): number | undefined {
    return this.#names.get(path)
  }

  /** Throws ENOENT. */
  get(path: string): number {
    const inode = this.#names.get(path)
    if (inode === undefined) throw fileError('ENOENT', path)
    return inode
  }

  inode(number: number): Inode {
    const inode = this.#inodes.get(number)
    if (!inode) throw fileError('EBADF', String(number))
    return inode
  }

  namesIn(directory: string): string[] {
    return [...this.#names.keys()]
      .filter((path) => dirname(path) === directory)
      .map((path) => basename(path))
      .sort()
  }

  create(path: string, isDirectory = false): number {
    if (dirname(path) !== path && !isRoot(path)) this.get(dirname(path))
    const number = ++this.#last
    this.#inodes.set(number, { isDirectory, content: EMPTY, lasting: EMPTY, dirty: CLEAN })
    this.#names.set(path, number)
    return number
  }

  link(from: string, to: string): void {
    if (this.#names.has(to)) throw fileError('EEXIST', to)
    this.#names.set(to, this.get(from))
  }

  rename(from: string, to: string): void {
    this.#names.set(to, this.get(from))
    this.#names.delete(from)
  }

  /** Throws ENOENT. */
  remove(path: string): void {
    this.get(path)
    this.#names.delete(path)
  }

  write(number: number, at: number, bytes: Uint8Array): void {
    if (bytes.length === 0) return
    const inode = this.inode(number)
    const content = Buffer.alloc(Math.max(inode.content.length, at + bytes.length))
    inode.content.copy(content)
    content.set(bytes, at)
    this.#change(number, content, { from: Math.min(at, inode.content.length), to: at + bytes.length })
  }

  truncate(number: number, length: number): void {
    const { content } = this.inode(number)
    const changed = Buffer.concat([content], length)
    this.#change(number, changed, { from: Math.min(length, content.length), to: length })
  }

  #change(number: number, content: Buffer, { from, to }: { from: number; to: number }): void {
    const inode = this.inode(number)
    const dirty = new Set(inode.dirty)
    for (let page = Math.floor(from / PAGE); page * PAGE <= to; page++) dirty.add(page)
    this.#inodes.set(number, { ...inode, content, dirty })
  }

  sync(number: number): void {
    const inode = this.inode(number)
    if (inode.isDirectory) this.#syncNames(number)
    else this.#inodes.set(number, { ...inode, lasting: flushed(inode), dirty: CLEAN })
  }

  failSync(number: number): void {
    this.#inodes.set(number, { ...this.inode(number), dirty: CLEAN })
  }

  #syncNames(directory: number): void {
    const [path] = [...this.#names].find(([, inode]) => inode === directory) ?? []
    for (const name of new Set([...this.#names.keys(), ...this.#lastingNames.keys()])) {
      if (dirname(name) !== path) continue
      const inode = this.#names.get(name)
      if (inode === undefined) this.#lastingNames.delete(name)
      else this.#lastingNames.set(name, inode)
    }
  }
}

/** The files that a machine finds when it starts again after it stopped. */
export function afterPowerLoss(image: Image, kept: Kept): Image {
  const keepsNames = kept === 'everything' || kept === 'names'
  const keepsContent = kept === 'everything' || kept === 'content'
  const names = keepsNames ? image.names : image.lastingNames
  const inodes = new Map(
    [...image.inodes].map(([number, inode]): [number, Inode] => {
      const content = keepsContent ? flushed(inode) : inode.lasting
      return [number, { ...inode, content, lasting: content, dirty: CLEAN }]
    }),
  )
  return { names, lastingNames: names, inodes }
}

/** An image with a different text in some of its files. */
export function withText({ inodes, ...image }: Image, file: RegExp, edit: (text: string) => string): Image {
  const wanted = new Set([...image.names].filter(([name]) => file.test(name)).map(([, number]) => number))
  const edited = [...inodes].map(([number, inode]): [number, Inode] => {
    if (!wanted.has(number)) return [number, inode]
    const content = Buffer.from(edit(inode.content.toString()))
    return [number, { ...inode, content, lasting: content, dirty: CLEAN }]
  })
  return { ...image, inodes: new Map(edited) }
}

/** Two images with the same text hold the same files. */
export const textOf = ({ names, inodes }: Image): string =>
  [...names]
    .map(([path, inode]) => `${path} ${inodes.get(inode)?.content.toString('latin1')}`)
    .sort()
    .join('\n')

/** The content that a sync puts on the disk. */
function flushed({ content, lasting, dirty }: Inode): Buffer {
  const written = Buffer.alloc(content.length)
  lasting.copy(written)
  for (const page of dirty)
    if (page * PAGE < content.length) written.set(content.subarray(page * PAGE, (page + 1) * PAGE), page * PAGE)
  return written
}

const isRoot = (path: string): boolean => dirname(path) === '/'
