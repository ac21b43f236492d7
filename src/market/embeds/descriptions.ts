import type { TextsOf } from '../../http/openapi/texts.js'
import type { embedRoutes } from './routes.js'

export const embedTexts: TextsOf<typeof embedRoutes> = {
  operations: {
    embedPayment: 'For an iframe on any page. It changes nothing: the page itself calls the operations that pay.',
    embedPayback: 'For an iframe on any page. It changes nothing by itself.',
    embedVerify: 'For an iframe on any page. It changes nothing by itself.',
    readElementScript: 'For every page. It answers 304 to a matching `If-None-Match`.',
  },
  fields: {
    hash: 'The hash of the commodity.',
    theme: '`light` or `dark`.',
    style: 'A JSON object of style values, such as `colorPrimary` and `borderRadius`. Others are ignored.',
    leading: 'The text before the price.',
    middle: 'The text after the price.',
    trailing: 'The text at the end of the button.',
    decimalPoints: 'How many decimals of the price to show.',
    consent: 'A JSON array of the texts that the user agrees to.',
    issueMin: 'Accept only delegates with at least this number.',
    issueMax: 'Accept only delegates with at most this number.',
    'embedVerify.hash': 'The hash of the persona.',
  },
}
