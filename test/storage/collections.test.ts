import { expect, it } from 'vitest'
import { collections } from '../../src/collections.js'
import { fullState } from '../support/storage/full-state.js'

it('lists every collection that the service keeps rows in, each once', async () => {
  const { state } = await fullState()
  expect(collections.map(({ name }) => name).sort()).toEqual(Object.keys(state.rows).sort())
})
