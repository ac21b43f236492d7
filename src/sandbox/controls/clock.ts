import type { Clock } from '../../base/ports.js'
import type { ClockState, SandboxClock } from '../../http/context.js'
import { wrongField } from './shapes.js'

/** A clock that a sandbox can stop, set and advance. Otherwise it follows the real clock. */
export function sandboxClock(real: Clock): SandboxClock {
  let state: ClockState = { mode: 'real', ms: 0 }
  const now = () => (state.mode === 'real' ? real.now() + state.ms : state.ms)
  const set = (mode: ClockState['mode'], ms: number): void =>
    void (state = { mode, ms: mode === 'real' ? ms - real.now() : ms })
  return {
    now,
    realNow: () => real.now(),
    get mode() {
      return state.mode
    },
    setMode: (mode) => set(mode, now()),
    setTo: (ms) => set(state.mode, ms),
    state: () => state,
    restore: (kept) => void (state = kept),
  }
}

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Converts `90s`, `15m`, `1h30m`, `2d` or seconds to milliseconds, which may be negative. Throws `field_invalid`. */
export function durationMs(duration: string | number): number {
  const text = typeof duration === 'number' ? `${duration}s` : duration.trim()
  const [, sign, parts] = /^(-?)((?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+)$/.exec(text) ?? []
  if (parts === undefined)
    throw wrongField('advance', 'must be a duration such as "90s", "15m", "1h30m" or "2d", or a number of seconds.')
  let ms = 0
  for (const [, count, unit = ''] of parts.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/gy))
    ms += Number(count) * (UNITS[unit] ?? 0)
  return Math.round(sign === '-' ? -ms : ms)
}
