import { beforeAll, describe, expect, test } from 'vitest'
import { readStored } from '../../adapters/storage/file/stored.js'
import { howMuch, isWhole } from '../support/how-much.js'
import { backupOf, type Life, type Ordered, openShop, type Shop, useShop } from '../support/scenes/stored-shop.js'
import { expectOrdersOnce, isDone, newStoredShop } from '../support/scenes/stored-shop-checks.js'
import { type Fault, type FileCall, VirtualDisk } from '../support/storage/virtual/disk.js'
import { afterPowerLoss, type Image, type Kept, textOf, withText } from '../support/storage/virtual/files.js'
import { withMounted } from '../support/storage/virtual/mount.js'

const ROOT = '/virtual-disk'

let shop: Shop
let begin: Image

beforeAll(async () => {
  const disk = new VirtualDisk(ROOT)
  shop = await withMounted(disk, () => newStoredShop(`${ROOT}/shop/data.json`))
  begin = disk.image()
})

const newLife = (): Life => ({ ordered: [], failures: [], backup: undefined })

/** Lives once on a disk that begins as the shop does. */
async function live(prepare: (disk: VirtualDisk, life: Life) => void): Promise<{ disk: VirtualDisk; life: Life }> {
  const disk = new VirtualDisk(ROOT, begin)
  const life = newLife()
  prepare(disk, life)
  await withMounted(disk, () => useShop(shop, life))
  return { disk, life }
}

/** Files that only someone who is at work needs. */
const TEMPORARY = /\.next$|\.lock|\.takeover/
/** Of these, what a process that dies may leave for a while. */
const LEFT_BEHIND = /\.lock$|data\.json(\.previous|\.key)?\.next$|\.takeover/

let checked = 0
/** Whether the machine stops once more after a check: each time in `npm run test:all`, and else one time of three. */
const stopsAgain = (): boolean => isWhole || checked++ % 3 === 0

/** Opens what is on a disk, as another process does, and checks it. Then the machine may stop, and start once more. */
async function checkDisk(image: Image, life: Life, left = TEMPORARY): Promise<void> {
  const first = new VirtualDisk(ROOT, withoutHolder(image))
  await withMounted(first, async () => {
    const service = await openShop(shop.file)
    await expectOrdersOnce(service, shop, life.ordered)
    await service.close()
    if (life.backup !== undefined) await checkBackup(life.ordered.slice(0, life.backup))
  })
  expect(first.openFiles).toBe(0)
  if (!stopsAgain()) return expectNoneLeft(first, left)
  const second = new VirtualDisk(ROOT, withoutHolder(afterPowerLoss(first.image(), 'nothing')))
  await withMounted(second, async () => {
    const service = await openShop(shop.file, { wholeLimit: 1 << 22 })
    await expectOrdersOnce(service, shop, life.ordered)
    await service.close()
  })
  expectNoneLeft(second, left)
}

function expectNoneLeft(disk: VirtualDisk, left: RegExp): void {
  expect([...disk.image().names.keys()].filter((name) => left.test(name))).toEqual([])
}

async function checkBackup(ordered: readonly Ordered[]): Promise<void> {
  const { tables } = await readStored(backupOf(shop))
  const stored = (tables.state().rows.payments ?? []).map(({ id }) => id)
  for (const { text } of ordered.filter(isDone)) {
    const { transaction_id, id } = JSON.parse(text ?? '')
    expect(stored).toContain(transaction_id ?? id)
  }
}

/** Locks name a process that is no more. */
const withoutHolder = (image: Image): Image =>
  withText(image, /\.lock/, (text) => text.replace(/"pid":\d+/, `"pid":${2 ** 22 + 1}`))

/** Whether a call can fail so. */
const canFail = ({ name, changes }: FileCall, fault: Fault): boolean =>
  fault === 'short' ? name === 'write' : fault === 'EIO' || (changes && name !== 'rm' && name !== 'truncate')

/** Reads of a disk that takes no writes still succeed. */
const canFailForAWhile = (call: FileCall, fault: Fault): boolean => call.changes && canFail(call, fault)

/** What a full disk tells of a change, a broken one seldom tells better. */
const tellsMore = (call: FileCall, fault: Fault): boolean =>
  isWhole || fault !== 'EIO' || call.name === 'sync' || !canFail(call, 'ENOSPC')

/** Calls of one kind do the same with files of the same purpose. */
const kindOf = ({ name, path }: FileCall): string => `${name} ${path.replace(/[0-9a-f-]{8,}/g, '*')}`

/** What a call is done to. */
const fileOf = (call: FileCall): string => kindOf(call).replace(call.name, '')

const nameOf = ({ name }: FileCall): string => name

/** The calls to try: all, or the last of each kind. */
function chosen(calls: readonly FileCall[], kind = kindOf): readonly FileCall[] {
  return isWhole ? calls : [...new Map(calls.map((call) => [kind(call), call])).values()]
}

/** What the caller of a refused order reads says what to do, and what an operator reads too. */
function checkMessages({ ordered, failures }: Life): void {
  for (const order of ordered) {
    if (isDone(order)) continue
    const { code, error } = JSON.parse(order.text ?? '{}')
    expect([order.status, code, error]).toEqual([
      503,
      expect.stringMatching(/^(storage_unavailable|outcome_unknown)$/),
      expect.stringMatching(/Nothing was changed\. Retry later\.|Retry with the same Idempotency-Key\./),
    ])
  }
  for (const { name, message } of failures) {
    expect(name).toMatch(/^(StorageUnavailable|StorageDamaged|OutcomeUnknown|Refusal)$/)
    expect(message).toMatch(SAYS_WHAT_TO_DO)
  }
}

const SAYS_WHAT_TO_DO = /Everything that was confirmed is stored|Nothing was changed|cannot write the backup: the disk/

/** For a failure of one call: each file that a full disk refuses, each that a broken one does not read, and the other calls. */
const failureOf = (fault: Fault) => (call: FileCall) => {
  if (fault === 'ENOSPC') return fileOf(call)
  return fault === 'short' || call.name === 'read' ? kindOf(call) : call.name
}

/** What is left if this process dies, and if the machine stops. Without `npm run test:all`, one of them. */
async function checkEnd(disk: VirtualDisk, life: Life, fault: Fault): Promise<void> {
  expect(disk.openFiles, 'files that are still open').toBe(0)
  // Files that could not be removed stay.
  const left = fault === 'EIO' ? LEFT_BEHIND : TEMPORARY
  const stops = disk.calls.length % 2 === 0
  if (isWhole || stops) await checkDisk(afterPowerLoss(disk.image(), 'nothing'), life, left)
  if (isWhole || !stops) await checkDisk(disk.image(), life, left)
}

const failing = (error: unknown) => (error as Error).message

describe('a run of the service on a file storage', { timeout: 900_000 }, () => {
  test.for(['ENOSPC', 'EIO', 'short'] as const)('goes on after any one call fails with %s', async (fault) => {
    const { disk: whole } = await live(() => {})
    const wrong: string[] = []
    let tried = 0
    const calls = whole.calls.filter((call) => canFail(call, fault) && tellsMore(call, fault))
    for (const { number } of chosen(calls, failureOf(fault))) {
      let hit: FileCall | undefined
      const { disk, life } = await live((disk) => {
        disk.onCall = (call) => {
          if (hit || call.number < number || !canFail(call, fault)) return undefined
          hit = call
          return fault
        }
      })
      if (hit) tried++
      try {
        checkMessages(life)
        // Those that were on their way.
        expect(life.ordered.filter((order) => !isDone(order)).length).toBeLessThan(4)
        expect(life.failures.length).toBeLessThan(2)
        if (fault === 'short') expect(life.failures).toEqual([])
        await checkEnd(disk, life, fault)
      } catch (error) {
        wrong.push(`${fault} at call ${number}, ${hit?.name} of ${hit?.path}: ${failing(error)}`)
      }
    }
    expect(wrong).toEqual([])
    expect(tried).toBeGreaterThan(3)
  })

  test.for(['ENOSPC', 'EIO'] as const)(
    'goes on when the disk works again after calls failed with %s',
    async (fault) => {
      const { disk: whole } = await live(() => {})
      const wrong: string[] = []
      let refused = 0
      const calls = whole.calls.filter((call) => canFailForAWhile(call, fault) && tellsMore(call, fault))
      for (const { number, name, path } of chosen(calls, fault === 'EIO' ? fileOf : nameOf)) {
        const { disk, life } = await live((disk, { ordered, failures }) => {
          const answered = () => ordered.filter((order) => order.status !== undefined && !isDone(order)).length
          const works = () => disk.calls.length < number || failures.length > 0 || answered() > 1
          disk.onCall = (call) => (works() || !canFailForAWhile(call, fault) ? undefined : fault)
        })
        refused += life.ordered.filter((order) => !isDone(order)).length
        try {
          checkMessages(life)
          await checkEnd(disk, life, fault)
        } catch (error) {
          wrong.push(`${fault} from call ${number}, ${name} of ${path}, on: ${failing(error)}`)
        }
      }
      expect(wrong).toEqual([])
      expect(refused).toBeGreaterThan(3)
    },
  )

  test('loses nothing if the process dies, or the machine stops, at any call', async () => {
    const moments: { call: FileCall; part: string; image: Image; life: Life }[] = []
    const { disk } = await live((disk, life) => {
      const note = (call: FileCall, part: string) =>
        moments.push({ call, part, image: disk.image(), life: structuredClone(life) })
      disk.onCall = (call) => void note(call, 'before')
      disk.onHalf = () => void note(disk.calls.at(-1) as FileCall, 'in the middle of')
    })
    const tried = new Set(chosen(disk.calls))
    const seen = new Set<string>()
    const wrong: string[] = []
    for (const [at, { call, part, image, life }] of moments.filter(({ call }) => tried.has(call)).entries()) {
      const lost: readonly Kept[] = ['nothing', 'names', 'content', 'everything']
      const ends = [undefined, ...lost]
      for (const kept of howMuch(ends.slice(at % 5, (at % 5) + 1), ends)) {
        const found = kept ? afterPowerLoss(image, kept) : image
        const text = `${life.ordered.filter(isDone).length} ${life.backup} ${textOf(found)}`
        if (seen.has(text)) continue
        seen.add(text)
        try {
          await checkDisk(found, life, LEFT_BEHIND)
        } catch (error) {
          wrong.push(`${part} call ${call.number}, ${call.name} of ${call.path}, ${kept} kept: ${failing(error)}`)
        }
      }
    }
    expect(wrong).toEqual([])
    expect(seen.size).toBeGreaterThan(20)
  })
})
