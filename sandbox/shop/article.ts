/** The part of the demo shop's article that everybody may read. */
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

/** The paid part of the article. */
export const restOfArticle = [
  'Bakers priced by it. Candles were sold by it. A draper who did not care to ask two shillings asked one shilling, eleven pence and three farthings, and gave the odd one back as a paper of pins.',
  'In 1937 the little bronze coin got the little brown bird: a wren, the smallest of the familiar ones, which most people who handled it remember better than the king on the other side.',
  'It ended for the reason such things end. Counting it out cost more than it was worth, and on the last day of 1960 it stopped being money. The small things did not go away. They were bundled, or rounded up, or given away and paid for by something else.',
  'You have just paid a quarter for one article, and no one had to quarter anything.',
]
