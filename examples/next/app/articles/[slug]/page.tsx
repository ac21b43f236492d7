import { notFound } from 'next/navigation'
import { articles } from '../../../lib/articles'
import { Story } from './story'

export default async function Page({ params }: { params: Promise<{ slug: string }> }) {
  const { slug } = await params
  const article = articles.get(slug)
  if (!article) notFound()
  const { FARTHING_URL = '', FARTHING_PUBLIC_SECRET = '' } = process.env
  // The story itself is not passed on, because whatever is passed on reaches the browser.
  const { hash, title, beginning } = article
  return (
    <main>
      <h1>{title}</h1>
      <Story
        slug={slug}
        hash={hash}
        beginning={beginning}
        serviceUrl={FARTHING_URL}
        publicSecret={FARTHING_PUBLIC_SECRET}
      />
    </main>
  )
}
