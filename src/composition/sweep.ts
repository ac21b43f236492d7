import { collections } from '../collections.js'
import { sweepOver } from '../jobs/retention/sweep.js'

/** The job that removes the rows of every collection whose time is over. */
export const sweep = sweepOver(collections)
