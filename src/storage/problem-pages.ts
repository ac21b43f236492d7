import type { ProblemPages } from '../base/problem-fields.js'
import type { storageProblems } from './problems.js'

export const storagePages = {
  storage_unavailable: `The state cannot be read or stored at the moment. Nothing was changed.
    cause: Another process holds the state file, or the disk returned an error.
    cause: A newer farthing wrote the state. ‹schema› has its number.
    cause: The browser closed its database, for example because the user cleared the data of the site.
    fix: Read ‹GET /_sandbox/health› in a sandbox. It names the fault.
    fix: Let one process use a state file, and update farthing if the state is newer.
    fix: Repeat the call after ‹Retry-After› seconds.`,
  storage_full: `The disk or the quota of the browser is full, so no change can be stored. Reads go on. Nothing was changed.
    cause: The disk has no space left.
    cause: The browser allows this site no more data.
    fix: Free space, then repeat the call.
    fix: Export the state (‹GET /_sandbox/snapshot› or ‹farthing export›), and start over with what you need.`,
  cursor_invalid: `‹after› is not a place in this list, so there is no next page.
    cause: The cursor belongs to another list, or to the list of another caller.
    cause: The page that it came from was read before a reset or a restored snapshot.
    cause: It was made up, for example as a page number.
    fix: Start again without ‹after›, and send the ‹next› of each page unchanged until it is null.`,
} satisfies ProblemPages<typeof storageProblems>
