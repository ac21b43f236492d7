import { readFileSync, writeSync } from 'node:fs'
import { type Life, type Shop, useShop } from '../scenes/stored-shop.js'

// A process that uses a shop once, and says all that its client knows whenever that changes.
const shop: Shop = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'))
const life: Life = { ordered: [], failures: [], backup: undefined }
const say = (life: Life) => void writeSync(1, `${JSON.stringify({ ...life, failures: life.failures.map(String) })}\n`)
await useShop(shop, life, say)
say(life)
process.exit()
