import { collection } from '../../storage/storage.js'

export type ParameterKind = 'header' | 'query' | 'url'

/** A value that farthing adds when it calls an item's endpoint. Micro Payment Service Interface, section 2. */
export interface DispatchParameterRow {
  readonly id: number
  readonly item_id: number
  readonly kind: ParameterKind
  readonly name: string
  readonly sensitive: boolean
  readonly value_sealed: string
  readonly updated_at: number
}

export const dispatchParameters = collection<DispatchParameterRow>()(
  'dispatch_parameters',
  {
    byItem: { fields: ['item_id'] },
  },
  {
    refs: { item_id: 'catalog_items' },
    secrets: ['value_sealed'],
    growth: { by: 'an account, by replaceDispatchParameters', most: 32, per: 'item', beyond: 'field_invalid' },
    retention: { until: 'the owner of the item replaces it' },
  },
)
