// In place of the client that scripted agents connect with: those are for tests, and would make a third of the worker.
throw new Error('No agent can be scripted here: connect one of your own to /mcp.')

export {}
