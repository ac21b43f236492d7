import { demo } from '../../../sandbox/seed/demo.js'
import { elementHtml, journey, newPersona, parts, visit } from './journey.js'

const events = ['verify', 'verified', 'unverified', 'payment']

export function pressPasses() {
  const { host, site, page: newPage } = journey()

  /** A page of another origin that asks for a press pass, of which the demo's payer holds the first and the second. */
  async function opened(options: object = {}) {
    const service = await host()
    const { call } = service
    const persona = await newPersona(call, { name: 'Press pass', description: 'Given to reporters.' })
    const delegates = []
    for (const name of ['Payer', 'Payer again']) delegates.push(await persona.delegate(demo.payer.hostname, name))
    await persona.delegate(demo.reader.hostname, 'Reader')
    const { hash } = persona
    const shop = await site(elementHtml(service, { type: 'verify', options: { hash, ...options }, events }))
    const page = await newPage()
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url().replace(service.url, '')))
    const frame = await visit(page, shop.url)
    return { service, call, hash, delegates, page, frame, asked, shown: parts(frame, /Press pass/) }
  }

  return { opened }
}
