import type { SandboxPages } from './pages.js'

/** What the service says to the demo's account, asked as any seller's server would. */

type Body = Record<string, unknown>

interface Answer {
  readonly status: number
  readonly body: Body
}

/** What of the demo the service holds; null where its state was begun with another seed. */
export interface DemoThere {
  readonly article: { readonly cost: number; readonly descriptor: string }
  readonly song: { readonly cost: number; readonly descriptor: string }
}

export async function readDemo(options: SandboxPages): Promise<DemoThere | null> {
  if ((await accessToken(options)) === undefined) return null
  const [article, song] = await Promise.all(
    [options.demo.commodities.article, options.demo.commodities.song].map((hash) =>
      call(options, 'GET', `/v4/commodity/${hash}`),
    ),
  )
  if (article?.status !== 200 || song?.status !== 200) return null
  return { article: article.body, song: song.body } as unknown as DemoThere
}

/** Spends the nonce of a payment for the article. */
export async function validate(options: SandboxPages, proof: Body): Promise<Answer> {
  const token = await accessToken(options)
  const path = `/v4/payment/${options.demo.commodities.article}/validate`
  return call(options, 'POST', path, { authorization: `Bearer ${token}` }, proof)
}

async function accessToken(options: SandboxPages): Promise<string | undefined> {
  const { client_id, client_secret } = options.demo.account
  const authorization = `Basic ${btoa(`${client_id}:${client_secret}`)}`
  const { status, body } = await call(options, 'POST', '/v4/account/oauth/token', { authorization })
  return status === 200 ? String(body.access_token) : undefined
}

async function call(
  { service }: SandboxPages,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: Body,
): Promise<Answer> {
  const json = body && { 'content-type': 'application/json' }
  const request = new Request(service.baseUrl + path, {
    method,
    headers: { ...headers, ...json },
    ...(body && { body: JSON.stringify(body) }),
  })
  const answer = await service.fetch(request)
  return { status: answer.status, body: (await answer.json()) as Body }
}
