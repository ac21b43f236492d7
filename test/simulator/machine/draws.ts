/** Random numbers that are the same for the same seed (sfc32). */
export class Draws {
  #a: number
  #b: number
  #c: number
  #count = 1

  constructor(seed: string) {
    this.#a = hashOf(`a${seed}`)
    this.#b = hashOf(`b${seed}`)
    this.#c = hashOf(`c${seed}`)
    for (let n = 0; n < 12; n++) this.#next()
  }

  #next(): number {
    const sum = (this.#a + this.#b + this.#count++) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum
    return sum >>> 0
  }

  /** A whole number from 0 up to one less than this. */
  below(end: number): number {
    return Math.floor((this.#next() / 2 ** 32) * end)
  }

  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  /** Whether something happens that happens once in so many times. */
  oneIn(times: number): boolean {
    return this.below(times) === 0
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T
  }

  bytes(count: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length: count }, () => this.#next() & 0xff)
  }
}

/** FNV-1a. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}
