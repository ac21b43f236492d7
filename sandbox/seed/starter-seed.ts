/** The seed that `farthing init` writes. YAML, because JSON has no comments. */
export const starterSeed = `# What an empty sandbox starts with. After a change: farthing reset, or farthing --fresh.

# Who sells. With fixed credentials, a .env file stays right after a reset.
accounts:
  - name: My shop
    client_id: mid_00000000000000000000000000005409
    client_secret: mc_00000000000000000000000000005409
    public_secret: mp_00000000000000000000000000005409

# Who pays, and what they have. An address with +code123456 always gets that sign-in code.
users:
  - email: ada+code123456@example.test
    balance: 20
  - email: grace@example.test # cannot pay: good for testing what your page says then
    balance: 0

# What is sold. Your server names the hash when it asks for a payment.
commodities:
  - account: My shop
    descriptor: NEWS.ARTICLE
    cost: 0.25
    hash: 00000000-0000-4000-8000-000000005409

# What people and agents find in the catalog. The endpoint delivers it: yours.
# items:
#   - account: My shop
#     name: Weather report
#     price: 0.05
#     external_endpoint: http://127.0.0.1:3000/weather
#     service_method: GET
#     service_schema: { type: object }

# What fails on purpose, again after each reset.
# faults:
#   - match: { operation_id: createPayment }
#     at: before
#     do: { status: 503 }
#     every: 3
`
