import { type Reply, reply } from '../../src/http/reply.js'
import { article, restOfArticle } from '../shop/article.js'
import type { SandboxPages } from './options.js'

/** Answers the endpoint of the demo's item: the paragraphs that contain all the words of `?words=`. */
export async function archive(_options: SandboxPages, { url }: Request): Promise<Reply<object>> {
  const words = (new URL(url).searchParams.get('words') ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const found = [...article.opening, ...restOfArticle].filter((text) =>
    words.every((word) => text.toLowerCase().includes(word)),
  )
  return reply({ value: { headline: article.headline, paragraphs: found } })
}
