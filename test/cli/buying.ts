import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { demo } from '../../sandbox/seed/demo.js'
import { smallFetch } from '../support/small-fetch.js'

/** A script that buys an article, and tries again after a lost answer. */
const buying = (headers: string) => `${smallFetch}
const { FARTHING_URL: url, FARTHING_USER_CLIENT_ID: id, FARTHING_USER_CLIENT_SECRET: secret } = process.env
const retried = async (send) => {
  for (let left = 4; left > 0; left--) {
    const answer = await send().catch(() => undefined)
    const isRunning = answer?.status === 409 && (await answer.json()).code === 'idempotency_in_progress'
    if (answer && answer.status !== 503 && answer.status !== 401 && !isRunning) return answer
  }
  throw new Error('it failed')
}
const basic = { authorization: 'Basic ' + btoa(id + ':' + secret) }
const token = await retried(() => fetch(url + '/v4/user/oauth/token', { method: 'POST', headers: basic }))
const { access_token } = await token.json()
const { cost } = await (await retried(() => fetch(url + '/v4/commodity/${demo.commodities.article}'))).json()
const answer = await retried(() =>
  fetch(url + '/v4/payment/${demo.commodities.article}', {
    method: 'POST',
    headers: { authorization: 'Bearer ' + access_token, 'content-type': 'application/json', ${headers} },
    body: JSON.stringify({ cost }),
  }),
)
if (answer.status !== 202) throw new Error('refused ' + answer.status)
console.log('bought')
`

/** Writes the script into a directory, and gives the arguments that rehearse it. */
export async function buyingIn(directory: string, headers: string, name = 'buy.mjs'): Promise<readonly string[]> {
  const file = join(directory, name)
  await writeFile(file, buying(headers))
  return ['--', process.execPath, file]
}
