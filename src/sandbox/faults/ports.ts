import type { Upstream, UpstreamRequest } from '../../base/ports.js'
import type { FaultEngine, FaultPort, Faults, FaultyAnswer, NoteFault, OutwardPorts } from '../onion/fault.js'

/** Ports to whose calls faults may happen. `note` gets those that do. */
export function faultyPorts(ports: OutwardPorts, faults: Pick<Faults, 'engine'>, note?: NoteFault): OutwardPorts {
  const { mailer, push, cards, upstream } = ports
  const call = <T>(port: FaultPort, run: () => Promise<T>): Promise<T> =>
    faults.engine ? faults.engine.call({ port, note, run }) : run()
  return {
    mailer: { send: (mail) => call('mail', () => mailer.send(mail)) },
    push: { send: (message) => call('push', () => push.send(message)) },
    cards: cards && {
      ...(cards.testMethods && { testMethods: cards.testMethods }),
      save: (card) => call('card', () => cards.save(card)),
      charge: (charge) => call('card', () => cards.charge(charge)),
      refund: (refund) => call('card', () => cards.refund(refund)),
    },
    upstream: {
      fetch: (request) =>
        faults.engine ? callUpstream(upstream, request, { engine: faults.engine, note }) : upstream.fetch(request),
    },
  }
}

interface Noting {
  readonly engine: FaultEngine
  readonly note: NoteFault | undefined
}

function callUpstream(upstream: Upstream, request: UpstreamRequest, { engine, note }: Noting): Promise<Response> {
  const { method, url, headers } = request
  // Only webhooks are signed (Standard Webhooks).
  const port = 'webhook-signature' in headers ? 'webhook' : 'upstream'
  const run = () => upstream.fetch(request)
  return engine.call({ port, method, path: new URL(url).pathname, note, run, answer: responseOf })
}

const responseOf = ({ status, headers, body }: FaultyAnswer): Response => new Response(body, { status, headers })
