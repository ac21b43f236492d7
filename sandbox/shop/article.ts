export const article = {
  kicker: 'Money',
  headline: 'The coin that was worth the trouble',
  standfirst:
    'For seven centuries the smallest coin in the realm bought the smallest things. Then nobody could be bothered.',
  opening: [
    'A farthing was a fourth of a penny, and its name says so: a fourth-ing. Before it was a coin it was a pair of cuts: people quartered a silver penny along the cross on its back and spent the pieces.',
    'What kept it alive was not its value but what it was for. There were things worth less than a penny, and someone had to be able to pay for them.',
  ],
}

export const restOfArticle = [
  'Bakers priced by it. Candles were sold by it. A draper who did not care to ask two shillings asked one shilling, eleven pence and three farthings, and gave the odd one back as a paper of pins.',
  'In 1937 the little bronze coin got the little brown bird: a wren, the smallest of the familiar ones, which most people who handled it remember better than the king on the other side.',
  'It ended for the reason such things end. Counting it out cost more than it was worth, and on the last day of 1960 it stopped being money. The small things did not go away. They were bundled, or rounded up, or given away and paid for by something else.',
  'You have just paid a quarter for one article, and no one had to quarter anything.',
]

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
