export { JsonRpcMessageShape } from '../../agents/mcp/message-shape.js'
export { control } from '../controls/shapes.js'
