/** What the MCP servers use of the SDK, by name, so that a bundle leaves out the rest. It is loaded on first use. */
export {
  CLIENT_CAPABILITIES_META_KEY,
  createMcpHandler,
  inputRequired,
  inputResponse,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/server'
