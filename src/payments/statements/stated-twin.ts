import type { Owner } from '../../base/owner.js'
import type { ServiceContext } from '../../http/context.js'
import { ownTwin, type TwinRow } from '../../money/twins/twin.js'

/** The caller's own twin, for a statement. Throws like `ownTwin`. */
export const statedTwin = (
  { storage }: Pick<ServiceContext, 'storage'>,
  owner: Owner,
  hostname: string,
): Promise<TwinRow> => storage.read((tx) => ownTwin(tx, owner, hostname))
