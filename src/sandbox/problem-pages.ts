import type { ProblemPages } from '../base/problem-fields.js'
import type { sandboxProblems } from './problems.js'

export const sandboxPages = {
  already_exists: `The seed contains something that is there already. Nothing of the seed was created.
    cause: The same seed was planted twice.
    cause: Two parts of a seed use one hostname, client id or ‹public_secret›.
    fix: Call ‹POST /_sandbox/reset› before, or create a new service for each test.
    fix: Leave out fixed ids, so that each seed gets its own.`,
  snapshot_invalid: `The document is not a state of farthing. Nothing was changed.
    cause: Another JSON file was sent.
    cause: The file was cut, or edited so that a list is missing.
    fix: Send what ‹GET /_sandbox/snapshot› or ‹farthing export› returned, unchanged.`,
  snapshot_newer: `A newer farthing wrote the snapshot, and this one does not know its shapes. Nothing was changed.
    cause: The snapshot was made with a later version, for example on another machine.
    fix: Update: ‹npm install farthing@latest›.`,
  snapshot_refused: `The snapshot was read, and its rows contradict each other, so the service could not go on from it. ‹collection› and ‹id› name the first wrong row. Nothing was changed.
    cause: The file was edited by hand: a row refers to another that is missing.
    cause: A balance does not equal the sum of its entries.
    fix: Export it again from a data file that ‹farthing verify FILE› finds sound: ‹farthing export›.
    fix: Make the state with a seed instead of editing a snapshot.`,
  rewind_refused: `The sandbox was asked to return to an earlier state, and it cannot. Nothing was changed.
    cause: Too much was stored since that request: a sandbox remembers what its commits replaced up to 64 MiB.
    cause: Another tab that shares the IndexedDB of this service has written since that request.
    cause: Many processes share the storage, and none may take the state back under the others.
    fix: Save a snapshot at places to return to: ‹POST /_sandbox/snapshots›. Then rewind to its name.
    fix: Choose a later request.
    fix: Where many processes share the storage, work in a fork: ‹POST /_sandbox/forks›.`,
  sandbox_full: `A sandbox keeps at most 100 named snapshots and 1,000 forks over HTTP. Nothing was created.
    cause: Your tests save snapshots or create forks, and never remove them.
    fix: Remove what you no longer need: ‹DELETE /_sandbox/snapshots/{name}›, ‹DELETE /_sandbox/forks/{id}›.
    fix: In JavaScript, ‹service.sandbox.fork()› has no limit. Close each fork after its test.`,
  not_replayable: `An entry of the journal cannot be repeated or exported. Nothing was sent. ‹field› names the part of the entry that is the reason, and ‹id› the entry of a range.
    cause: The journal cut a body at 16 KiB, or keeps none, because it was neither JSON nor a form.
    cause: The request held a secret that cannot be made anew, such as a refresh token or the client secret of an account that was not seeded.
    cause: The entry is a timer or a delivery, its request has no answer yet, or it was refused because of the place that it came from.
    cause: A test would need what it cannot begin with: a state that is forgotten or too large, or a fault, a refresh token or an Idempotency-Key from before.
    fix: Send the request yourself: the entry has its method, path, headers and body.
    fix: Seed the accounts of your tests, so that the sandbox knows their client secrets.
    fix: If ‹field› is ‹response.body›, replay with ‹diff: false›.
    fix: Let the range of a test begin earlier, or leave requests out with a filter.`,
} satisfies ProblemPages<typeof sandboxProblems>
