import { problem } from './problem.js'

/** Loads a part of the service on its first use: `load(() => import('./part.js'))`. Throws `not_loaded` if it fails twice. */
export async function load<T>(part: () => Promise<T>): Promise<T> {
  try {
    // Jest fails a module whose imports load for another one at the same time, and only the first time.
    return await part().catch(part)
  } catch (cause) {
    throw problem('not_loaded', { cause })
  }
}

/** Names a part that a bundle can leave out, for those who need it. `T` is what it is once it is loaded. */
export interface PartKey<T> {
  readonly name: string
  /** Only its type is used. */
  readonly loaded?: T
}

export const partKey = <T>(name: string): PartKey<T> => ({ name })

/** A part of the service that a bundle holds only if it is given to `createService`. */
export interface Part {
  readonly name: string
  load(): Promise<unknown>
}

export const part = <T>({ name }: PartKey<T>, loadPart: () => Promise<T>): Part => ({ name, load: loadPart })

/** The parts that a service has. Each is loaded on its first use. */
export class Parts {
  readonly #parts: ReadonlyMap<string, Part>

  constructor(parts: readonly Part[]) {
    this.#parts = new Map(parts.map((each) => [each.name, each]))
  }

  /** Throws `not_bundled` if the bundle leaves it out, and `not_loaded`. */
  async load<T>(key: PartKey<T>): Promise<T> {
    const loaded = await this.loadIfHeld(key)
    if (loaded === undefined)
      throw problem('not_bundled', {
        detail: `Import ${key.name} from farthing/parts, and create the service with { parts: [${key.name}] }.`,
        fields: { part: key.name },
      })
    return loaded
  }

  /** Undefined if the bundle leaves it out. Throws `not_loaded`. */
  async loadIfHeld<T>({ name }: PartKey<T>): Promise<T | undefined> {
    const held = this.#parts.get(name)
    // `part` gave it the type of its key.
    return held && ((await load(() => held.load())) as T)
  }
}
