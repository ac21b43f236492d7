/** What people, and its own script, read of an embed's page. */

export const textOf = (html: string): string =>
  html
    .replace(/<[^>]*>/g, '')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ')
    .trim()

export const closedButton = (html: string): string => textOf(/<button id="open".*?<\/button>/s.exec(html)?.[0] ?? '')
export const heading = (html: string): string => textOf(/<h1.*?<\/h1>/s.exec(html)?.[0] ?? '')
/** What a page in the browser reads of its `main`. */
export const factsOf = (html: string): Record<string, string> =>
  Object.fromEntries(
    [...(/<main([^>]*)>/.exec(html)?.[1] ?? '').matchAll(/data-([\w-]+)="([^"]*)"/g)].map(([, k, v]) => [k, v]),
  )

export const scriptOf = (html: string): string => /<script[^>]*>(.*)<\/script>/s.exec(html)?.[1] ?? ''
