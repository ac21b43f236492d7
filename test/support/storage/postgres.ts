import postgres from 'postgres'
import { afterAll, describe, test } from 'vitest'
import { type PostgresStorageOptions, postgresStorage } from '../../../adapters/storage/postgres.js'
import type { Storage } from '../../../src/storage/storage.js'
import { messageOf } from '../../../src/storage/unknown.js'
import { newSchema, sharedPostgres } from './shared-url.js'

/** Declares tests that need PostgreSQL. Where none starts, the report says that they were not run, and why. */
export async function onPostgres(title: string, tests: (database: TestDatabase) => void): Promise<void> {
  const url = await sharedPostgres().catch((error: unknown) => new Error(messageOf(error)))
  describe(title, () => {
    if (url instanceof Error) test('needs a database', (context) => context.skip(`not run: ${url.message}`))
    else tests(new TestDatabase(url))
  })
}

/** Opens storages in schemas of their own, and removes these after the tests of the file. */
export class TestDatabase {
  readonly #sql: postgres.Sql
  readonly #schemas = new Set<string>()
  readonly #databases: string[] = []

  constructor(readonly url: string) {
    this.#sql = postgres(url, { max: 1, fetch_types: false, onnotice: () => {} })
    afterAll(async () => {
      for (const schema of this.#schemas) await this.drop(schema)
      for (const name of this.#databases) await this.#sql.unsafe(`drop database ${name} with (force)`)
      await this.#sql.end()
    })
  }

  /** Runs a statement outside of every storage. */
  sql(text: string): Promise<readonly postgres.Row[]> {
    return this.#sql.unsafe(text)
  }

  /** A storage in an empty schema, or in the one that is named. */
  open(options: Partial<PostgresStorageOptions> = {}): Promise<Storage> {
    const { schema = newSchema() } = options
    this.#schemas.add(schema)
    return postgresStorage({ url: this.url, patience: 5000, ...options, schema })
  }

  /** Creates an empty database, and returns its URL. It is removed after the tests of the file. */
  async createDatabase(): Promise<string> {
    const name = newSchema()
    await this.#sql.unsafe(`create database ${name}`)
    this.#databases.push(name)
    const url = new URL(this.url)
    url.pathname = name
    return url.href
  }

  async drop(schema: string): Promise<void> {
    for (const name of [schema, `${schema}_v1`, `${schema}_v2`])
      await this.#sql.unsafe(`drop schema if exists ${name} cascade`)
    this.#schemas.delete(schema)
  }
}
