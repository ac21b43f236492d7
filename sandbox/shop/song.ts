/** A tune as notes, which the browser plays instead of a recording. */
export interface Tune {
  readonly title: string
  readonly beatsPerMinute: number
  /** Each voice alternates MIDI pitches (0 is a rest) and lengths in beats. */
  readonly voices: readonly (readonly number[])[]
}

export const song = {
  kicker: 'Music',
  title: 'The Wren on the Coin',
  about: 'A round for two voices, in three-four time.',
}

// biome-ignore format: a line is two bars
const melody = [
  67, 1, 72, 1, 74, 1, 76, 2, 74, 1,
  72, 1, 69, 1, 72, 1, 67, 3,
  67, 1, 72, 1, 74, 1, 76, 1, 77, 1, 79, 1,
  77, 1, 76, 1, 74, 1, 74, 3,
  79, 1.5, 77, 0.5, 76, 1, 77, 2, 74, 1,
  76, 1.5, 74, 0.5, 72, 1, 74, 2, 67, 1,
  69, 1, 72, 1, 69, 1, 67, 1, 72, 1, 76, 1,
  74, 1, 71, 1, 74, 1, 72, 3,
]

// biome-ignore format: a line is four bars
const bass = [
  48, 3, 48, 3, 53, 3, 52, 3,
  48, 3, 48, 3, 50, 3, 43, 3,
  48, 3, 50, 3, 48, 3, 43, 3,
  53, 3, 48, 3, 43, 3, 48, 3,
]

/** The shop's server sends this only after payment. */
export const tune: Tune = { title: song.title, beatsPerMinute: 126, voices: [melody, bass] }
