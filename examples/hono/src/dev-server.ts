import { serve } from '@hono/node-server'
import worker from './worker.js'

// Node gives a worker no variables of its own, so these are the environment's.
const fetch = (request: Request) => worker.fetch(request, process.env)
serve({ fetch, port: 3000 }, () => console.log('http://localhost:3000/articles/on-small-coins'))
