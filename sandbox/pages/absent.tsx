import type { ComponentChildren } from 'preact'
import { page } from '../../src/http/pages/html.js'
import type { Reply } from '../../src/http/reply.js'
import { pagesStyle } from './pages-style.js'

/** Answers 404: says what this sandbox lacks, and leads back to its first page. */
export const absentPage = (title: string, heading: string, why: ComponentChildren): Reply =>
  page({
    title,
    status: 404,
    styles: [pagesStyle],
    body: (
      <main>
        <h1>{heading}</h1>
        <p>
          {why} <a href="/">Back to the sandbox</a>
        </p>
      </main>
    ),
  })
