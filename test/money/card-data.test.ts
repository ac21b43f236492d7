import { expect, test } from 'vitest'
import { checkNoCardData } from '../../src/http/fields/card-data.js'

test('card numbers are found in any value, however deep and spaced, and nothing else is', () => {
  const numbers = [
    '4242424242424242',
    ' 4242 4242-4242 4242 ',
    '4222222222222',
    '6304000000000000000',
    4242424242424242,
    '36227206271667',
    '378282246310005',
    '3530111333300000',
    '2223003122003222',
    'Way 12, 4242 4242 4242 4242 exp 12/50',
    'Way 1\n75001 4242424242424242\n10115 Berlin',
  ]
  for (const number of numbers)
    for (const fields of [number, { number }, { card: { numbers: ['x', number] } }])
      expect(() => checkNoCardData(fields), String(number)).toThrow(
        expect.objectContaining({ code: 'card_data_refused', message: expect.not.stringContaining('4242') }),
      )
  const others = [
    '4242424242424241',
    '424242424242',
    '42424242424242424242',
    'pm_4242424242424242',
    '73282932000074',
    '732 829 320 00074',
    'SIRET 732 829 320 00074, 75001 Paris',
    '1234567890128',
    '9999999999999995',
    'DE89 3704 0044 0532 0130 00',
    '',
    null,
    true,
    5,
    0.5,
  ]
  expect(() => checkNoCardData({ others, deeper: { others } })).not.toThrow()
})
