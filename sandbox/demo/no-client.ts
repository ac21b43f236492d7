// Replaces the client that scripted agents connect with. They are for tests and would be a third of the worker.
throw new Error('The offline demo has no scripted agents. Connect an agent of your own to /mcp.')

export {}
