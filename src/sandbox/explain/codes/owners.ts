import { twinByHostname } from '../../../money/twins/twin.js'
import type { Explainers } from '../facts/explainer.js'
import { callingConnection, payerIn } from '../facts/price.js'
import { foreignThing, rightCall, thingsIn } from '../facts/things.js'

/** Things that are absent, or that belong to others. */
export const ownerExplainers = {
  async not_found(asked) {
    const named = await thingsIn(asked)
    const wrong = named.find((thing) => !thing.exists) ?? foreignThing(asked, named)
    return { ...rightCall(asked, named, wrong), callers: wrong?.exists ? [] : (wrong?.callers ?? []) }
  },

  async not_owner(asked) {
    const named = await thingsIn(asked)
    const twin = (await callingConnection(asked)) && (await payerIn(asked))
    return { ...rightCall(asked, named, foreignThing(asked, named)), agent_twin: twin?.hostname }
  },

  async twin_unknown(asked) {
    const wrong = (await thingsIn(asked)).find(({ field }) => field === 'twin_id')
    const own = await twinByHostname(asked.tx, wrong?.callers[0] ?? '')
    return {
      ...{ twin_id: wrong?.value, owners: wrong?.owners, own: own && { id: own.id, hostname: own.hostname } },
      fix: own && asked.corrected({ body: { twin_id: own.id } }),
    }
  },
} satisfies Explainers
