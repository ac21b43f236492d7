import { mppDialect } from '../mpp/shop-dialect.js'
import type { PaymentDialect } from '../paid-calls/dialect.js'
import { x402Dialect, x402DialectV1 } from '../x402/shop-dialect.js'

/** Every dialect in which a call can be paid for. */
export const dialects: readonly PaymentDialect[] = [x402Dialect, x402DialectV1, mppDialect]
