import { useEffect, useState } from 'preact/hooks'
import type { Tune } from '../shop/song.js'
import { type Playing, play } from './synthesizer.js'

/** Plays a tune on the reader's own device. */
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

/** Fills while the tune plays. */
const Track = ({ seconds }: { seconds: number | undefined }) => (
  <div class="track" aria-hidden="true">
    {seconds !== undefined && <div style={{ animationDuration: `${seconds}s` }} />}
  </div>
)
