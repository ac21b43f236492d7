export const commonFields: Readonly<Record<string, string>> = {
  // Every list and every row
  id: 'The id.',
  created_at: 'When it was created, in Unix seconds.',
  updated_at: 'When it was changed last, in Unix seconds.',
  expires_at: 'When it expires, in Unix seconds.',
  limit: 'How many to return, from 1 to 100. Default: 20.',
  after: 'The `next` of the page before. Default: start with the newest.',
  next: 'Send it as `after` to get the next page. Null: this is the last page.',
  status: 'The status.',
  name: 'The name.',
  description: 'The description.',
  hash: 'The hash.',

  // Value
  dq: 'The hash of the digital quantity.',
  amount: 'The amount, in the digital quantity.',
  price: 'The price, in the digital quantity.',
  cost: 'The price, in the digital quantity.',
  balances:
    'The balance in each digital quantity, by its hash: in the quantity, such as 7.42, or in its smallest unit if the option `balances` of the service is `smallest`.',
  hostname: 'The hostname of the twin.',
  payee_hostname: "The hostname of the payee's twin.",
  descriptor: 'The line on the receipt, such as `ACME.WEATHER.CALL`.',
  digital_quantities: 'The digital quantities.',
  shortcode: 'A short code for display, such as `USD`.',
  shortdescription: 'One line about the digital quantity.',
  payment: 'The payment.',
  payment_method_id:
    "The card processor's id of a card. Never a card number, which this service refuses. A sandbox lists ids for tests.",

  // Who
  email: 'An email address.',
  user: 'The user.',
  user_id: 'The id of the user.',
  client_id: 'The id of the client credentials or of the app.',
  client_secret: 'The secret of the client. Store it where only your server reads it.',
  public_secret: "The account's publishable secret. Pages may show it.",
  secrets: 'The credentials.',
  session_id: 'The session. Send it as `X-Session-ID`.',
  access_token: 'The access token. Send it as `Authorization: Bearer`.',
  refresh_token: 'The refresh token. It works once.',
  code: 'The six digits of the mailed code.',

  // What allows a payment
  persona_delegate: 'The hash of a spending authority with which you pay from the twin of its persona.',
  approval_id: 'The id of an approval for exactly this. It is spent once.',

  // Catalog
  catalog_item_id: 'The id of the catalog item.',
  seller: 'The name of the seller, as buyers see it.',
  arguments: 'The arguments for the endpoint of the item, by name.',
  quantity: 'How many to buy, from 1 to 99.',
  line: 'The number of the line in its cart.',
  service_method: 'The method with which farthing calls the endpoint.',
  service_schema: 'The JSON Schema (draft 2020-12) of the arguments. Its type is object.',
  external_endpoint: 'The URL that farthing calls to deliver. It may contain `{input.NAME}` and `{secret.NAME}`.',
  active: 'Whether it can be bought now.',
  private: 'Whether only the MCP server of its own account sells it.',
  featured: 'Whether the MCP server of its account offers it as a tool of its own.',
  archived: 'Whether it is archived.',
  serviceUrl: 'The URL of the service that the payment is for.',
  serviceMethod: 'The method of the call. Default: GET.',
  additionalParams: 'The arguments of the call: in the query of a GET, else as the JSON body.',
  destination: "The hostname of the payee's twin.",
  address: "Where it goes: a twin's hostname, address or URL, or an email address.",
  memo: 'A note for the recipient.',

  // Pages and forms
  answer: 'The button that was pressed.',
  step: 'The step of the form to show.',
  token: 'The secret of the link.',

  // OAuth
  scope: 'Scopes, separated by spaces: `openid`, `profile`, `email`, `twin`, `offline_access`.',
  state: 'A value of the app that farthing returns unchanged.',
  resource: 'The URL of the resource that the token is for (RFC 8707).',
  redirect_uri: 'The address of the app to return to. It must match a registered one exactly.',
  jwks_uri: 'The address of the public keys.',
  client_name: 'The name that the app chose. Users see it in quotation marks, because nobody has checked it.',

  // Cards
  card: 'The card.',
  brand: 'The brand of the card.',
  last4: 'The last four digits of the card.',
  exp_month: 'The month in which the card expires.',
  exp_year: 'The year in which the card expires.',
  plan: 'The plan.',
  currency: 'The currency that the card processor charges, such as `usd`.',

  timestamp: 'When it happened, in ISO 8601 with milliseconds.',
}
