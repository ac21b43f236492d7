// Ways to bring groups of postings of several processes into one order, on the same server: see docs/guides/postgresql.md.
import postgres from 'postgres'
import { median } from './figures.mjs'

const PROCESSES = 3
const GROUP = 32
const PAYEES = 1000

const read = (tx, ids) => tx`select id, balance, version from posting where id = any(${ids}::int[])`

/** Returns whether nobody has changed a row since it was read. */
async function write(tx, rows) {
  const of = (name) => rows.map((row) => Number(row[name]))
  const { count } = await tx`
    update posting set balance = n.balance, version = posting.version + 1
    from unnest(${of('id')}::int[], ${of('balance')}::int8[], ${of('version')}::int8[]) as n (id, balance, version)
    where posting.id = n.id and posting.version = n.version`
  return count === rows.length
}

/** Posts 1 to each payee, over what is stored. */
const posted = (rows, payees) =>
  rows.map((row) => ({ ...row, balance: Number(row.balance) + payees.filter((id) => id === row.id).length }))

async function overLock(sql, payees, lock) {
  await sql.begin(async (tx) => {
    await lock(tx)
    await write(tx, posted(await read(tx, [...new Set(payees)]), payees))
  })
  return true
}

const takeNumber = (tx) => tx`update posting_head set commit = commit + 1 returning commit`

/** Each commits a group, and returns false if it must run again. */
const orders = {
  'the row of the head': (sql, payees) => overLock(sql, payees, takeNumber),
  // Processes need the number of the group as well.
  'an advisory lock': (sql, payees) =>
    overLock(sql, payees, (tx) => Promise.all([tx`select pg_advisory_xact_lock(1)`, takeNumber(tx)])),
  'versions checked at commit': async (sql, payees) => {
    const rows = posted(await read(sql, [...new Set(payees)]), payees)
    const changed = Symbol('changed')
    const job = async (tx) => {
      if (
        !(await write(
          tx,
          rows.sort((a, b) => a.id - b.id),
        ))
      )
        throw changed
    }
    return sql.begin(job).then(
      () => true,
      (error) => {
        if (error === changed || error.code === '40P01') return false
        throw error
      },
    )
  },
  SERIALIZABLE: (sql, payees) =>
    sql
      .begin('isolation level serializable', async (tx) => {
        await write(tx, posted(await read(tx, [...new Set(payees)]), payees))
      })
      .then(
        () => true,
        (error) => {
          if (error.code === '40001' || error.code === '40P01') return false
          throw error
        },
      ),
}

/** Postings per second, and how many groups ran again for each that landed. */
async function run(sessions, order, { payeesOf, seconds }) {
  const until = performance.now() + seconds * 1000
  let landed = 0
  let again = 0
  const work = async (sql) => {
    while (performance.now() < until) {
      const payees = payeesOf()
      while (!(await order(sql, payees))) again++
      landed++
    }
  }
  await Promise.all(sessions.map(work))
  return { perSecond: (landed * GROUP) / seconds, again: again / landed }
}

const hot = () => Array.from({ length: GROUP }, () => 0)
const spread = () => Array.from({ length: GROUP }, () => Math.floor(Math.random() * PAYEES))

export async function orderFigures(url, { rounds, seconds }) {
  const sessions = Array.from({ length: PROCESSES }, () => postgres(url, { max: 1, onnotice: () => {} }))
  const [sql] = sessions
  try {
    await sql`create table posting (id int primary key, balance int8 not null default 0, version int8 not null default 0)`
    await sql`insert into posting (id) select generate_series(0, ${PAYEES - 1}::int)`
    await sql`create table posting_head (commit int8 not null)`
    await sql`insert into posting_head values (0)`
    const figures = new Map(Object.keys(orders).map((name) => [name, { hot: [], spread: [] }]))
    for (let round = 0; round < rounds; round++)
      for (const [name, { hot: ones, spread: many }] of figures) {
        ones.push(await run(sessions, orders[name], { payeesOf: hot, seconds }))
        many.push(await run(sessions, orders[name], { payeesOf: spread, seconds }))
      }
    const of = (runs, figure) => median(runs.map((each) => each[figure]))
    const shown = ({ hot, spread }) =>
      [hot, spread].map((runs) => `${of(runs, 'perSecond').toFixed(0)}/s (${of(runs, 'again').toFixed(2)} again)`)
    const [[, head], ...others] = figures
    return others.map(([name, other]) => ({
      name: `groups of postings in order, the row of the head / ${name}`,
      ratio: of(head.hot, 'perSecond') / of(other.hot, 'perSecond'),
      target: '>= 0.8',
      detail: `to one and to many: ${shown(head).join(', ')} beside ${shown(other).join(', ')}`,
    }))
  } finally {
    for (const session of sessions) await session.end({ timeout: 1 })
  }
}
