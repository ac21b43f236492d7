import type { Article } from './article-page.js'

/** What is for sale, by the last part of its address. */
export const articles: ReadonlyMap<string, Article> = new Map([
  [
    'on-small-coins',
    {
      hash: '00000000-0000-4000-8000-0000000000a1',
      title: 'On small coins',
      beginning: 'A farthing was a quarter of a penny.',
      story: 'A farthing was a quarter of a penny. It bought a candle, or a third of a loaf.',
    },
  ],
])
