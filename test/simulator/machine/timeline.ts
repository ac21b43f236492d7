import type { Alarm, Clock } from '../../../src/base/ports.js'
import { settlePlatform } from './platform.js'

interface Due {
  readonly at: number
  /** Orders what is due at the same time. */
  readonly number: number
  readonly ring: () => void
}

/** The one clock of a simulation. Time passes only from one event to the next, and only when nothing else can go on. */
export class Timeline implements Clock {
  #now: number
  #number = 0
  /** A binary heap, the earliest first. */
  readonly #due: Due[] = []
  readonly #cancelled = new Set<number>()
  /** How many events have happened. */
  events = 0

  constructor(readonly start: number) {
    this.#now = start
  }

  now(): number {
    return this.#now
  }

  /** Calls back after this many milliseconds. Returns a function that cancels it. */
  after(ms: number, ring: () => void): () => void {
    const number = this.#number++
    this.#push({ at: this.#now + Math.max(0, ms), number, ring })
    return () => this.#cancelled.add(number)
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve))
  }

  /** Runs events until this one says that it is enough, or none is left. */
  async runUntil(isEnough: () => boolean): Promise<void> {
    await settlePlatform()
    while (!isEnough()) {
      const due = this.#pop()
      if (!due) return
      await this.#happen(due)
    }
  }

  /** Runs what is due in the next so many milliseconds. */
  async pass(ms: number): Promise<void> {
    const end = this.#now + ms
    await settlePlatform()
    for (let due = this.#first(); due && due.at <= end; due = this.#first()) await this.#happen(this.#pop() as Due)
    this.#now = Math.max(this.#now, end)
  }

  /** Time passes while nobody works, as for a machine that sleeps. What was due meanwhile happens afterwards. */
  sleep(ms: number): void {
    this.#now += ms
  }

  async #happen({ at, ring }: Due): Promise<void> {
    this.#now = Math.max(this.#now, at)
    this.events++
    ring()
    await settlePlatform()
  }

  #first(): Due | undefined {
    for (let first = this.#due[0]; first; first = this.#due[0]) {
      if (!this.#cancelled.delete(first.number)) return first
      this.#removeFirst()
    }
    return undefined
  }

  #pop(): Due | undefined {
    const first = this.#first()
    if (first) this.#removeFirst()
    return first
  }

  #push(due: Due): void {
    const heap = this.#due
    let at = heap.push(due) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isBefore(due, heap[parent] as Due)) break
      heap[at] = heap[parent] as Due
      at = parent
    }
    heap[at] = due
  }

  #removeFirst(): void {
    const heap = this.#due
    const last = heap.pop() as Due
    if (heap.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Due, heap[child] as Due)) child++
      if (!isBefore(heap[child] as Due, last)) break
      heap[at] = heap[child] as Due
      at = child
    }
    heap[at] = last
  }
}

const isBefore = (one: Due, other: Due): boolean =>
  one.at < other.at || (one.at === other.at && one.number < other.number)

/** The alarms of one process: none rings after its end. If it hangs, they ring late. */
export function alarmOf(timeline: Timeline, isAlive: () => boolean, awake: () => Promise<void> | undefined): Alarm {
  return {
    set: (ms, ring) => {
      let isCancelled = false
      const ringIfAlive = () => {
        if (isAlive() && !isCancelled) ring()
      }
      const cancel = timeline.after(ms, () => {
        const hanging = awake()
        if (hanging) void hanging.then(ringIfAlive)
        else ringIfAlive()
      })
      return () => {
        isCancelled = true
        cancel()
      }
    },
  }
}
