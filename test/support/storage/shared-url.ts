import { randomUUID } from 'node:crypto'
import { inject } from 'vitest'

/** The URL of the PostgreSQL that all tests share. Rejects with an Error that says why none starts here. */
export async function sharedPostgres(): Promise<string> {
  const response = await fetch(inject('postgresHost'))
  const text = await response.text()
  if (!response.ok) throw new Error(text)
  return text
}

/** Whether tests have a PostgreSQL. */
export const hasPostgres = (): Promise<boolean> =>
  sharedPostgres().then(
    () => true,
    () => false,
  )

/** The name of a schema that nobody uses. */
export const newSchema = (): string => `test_${randomUUID().replaceAll('-', '')}`
