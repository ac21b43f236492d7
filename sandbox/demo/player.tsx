import { useEffect, useState } from 'preact/hooks'
import type { Tune } from '../shop/song.js'
import { type Playing, play } from './synthesizer.js'

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
