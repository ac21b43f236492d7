import { pushCourier } from './notifications/push.js'
import { mailCourier } from './outbox/mail.js'
import type { Couriers } from './outbox/outbox.js'

/** Who takes what leaves the service to its port, by kind. */
export const couriers: Couriers = { mail: mailCourier, push: pushCourier }
