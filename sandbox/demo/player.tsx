import { useEffect, useState } from 'preact/hooks'
import type { Tune } from '../shop/song.js'

/** A button that plays a tune. */
export function Player({ tune }: { tune: Tune }) {
  const [playing, setPlaying] = useState<Playing>()
  useEffect(() => {
    if (!playing) return
    const timer = setTimeout(() => setPlaying(undefined), playing.seconds * 1000)
    return () => {
      clearTimeout(timer)
      playing.stop()
    }
  }, [playing])
  return (
    <div class="player">
      <button type="button" class="primary" onClick={() => setPlaying(playing ? undefined : play(tune))}>
        {playing ? 'Stop' : 'Play'} <span class="unseen">{tune.title}</span>
      </button>
      <Track seconds={playing?.seconds} />
    </div>
  )
}

/** A progress bar for the tune. */
const Track = ({ seconds }: { seconds: number | undefined }) => (
  <div class="track" aria-hidden="true">
    {seconds !== undefined && <div style={{ animationDuration: `${seconds}s` }} />}
  </div>
)

export interface Playing {
  readonly seconds: number
  stop(): void
}

/** Plays a tune. Browsers allow this only after a click. */
export function play({ beatsPerMinute, voices }: Tune): Playing {
  const context = new AudioContext()
  const beat = 60 / beatsPerMinute
  const ends = voices.map((voice, at) => playVoice(context, voice, beat, at === 0 ? 'triangle' : 'sine'))
  return { seconds: Math.max(...ends), stop: () => void context.close() }
}

function playVoice(context: AudioContext, voice: readonly number[], beat: number, type: OscillatorType): number {
  let from = context.currentTime + 0.05
  for (let i = 0; i < voice.length; i += 2) {
    const [pitch = 0, beats = 0] = voice.slice(i, i + 2)
    if (pitch > 0) playNote(context, { pitch, from, seconds: beats * beat, type })
    from += beats * beat
  }
  return from - context.currentTime
}

interface Note {
  readonly pitch: number
  readonly from: number
  readonly seconds: number
  readonly type: OscillatorType
}

/** Plays a note that starts quickly and fades out. */
function playNote(context: AudioContext, { pitch, from, seconds, type }: Note): void {
  const tone = new OscillatorNode(context, { type, frequency: 440 * 2 ** ((pitch - 69) / 12) })
  const loudness = new GainNode(context, { gain: 0 })
  loudness.gain.setValueAtTime(0, from)
  loudness.gain.linearRampToValueAtTime(0.2, from + 0.02)
  loudness.gain.exponentialRampToValueAtTime(0.002, from + seconds * 1.1)
  tone.connect(loudness).connect(context.destination)
  tone.start(from)
  tone.stop(from + seconds * 1.1)
}
