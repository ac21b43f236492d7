import { connect } from './connection.js'
import { buy } from './shopper.js'

const show = (url: string) => console.log(`Open ${url}`)
const agent = await connect(`${process.env.FARTHING_URL}/mcp`, show)
const receipt = await buy(agent, { query: 'archive', arguments: { words: 'bronze coin' }, mostPrice: 1 })
console.log(receipt.amount, receipt.response.body)
await agent.close()
