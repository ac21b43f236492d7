import { cardCourier } from './cards/charge.js'
import { pushCourier } from './notifications/push.js'
import { mailCourier } from './outbox/mail.js'
import type { Couriers } from './outbox/outbox.js'
import { settleTopup } from './topups/topup.js'

/** Who takes what leaves the service to its port, by kind. */
export const couriers: Couriers = { mail: mailCourier, push: pushCourier, card: cardCourier({ topup: settleTopup }) }
