// The worker of the page.
import { createService } from 'farthing/core'
import { fire } from 'farthing/service-worker'
import { indexedDbStorage } from 'farthing/storage/indexeddb'

/** @type {any} A worker's own names are no types of this project. */
const { registration } = globalThis
const baseUrl = new URL('pay/', registration.scope).href
fire(createService({ storage: indexedDbStorage(), baseUrl, sandbox: true }))
