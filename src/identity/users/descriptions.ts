import { type TextsOf, WHOLE_LIST_LIMIT } from '../../http/openapi/texts.js'
import type { userRoutes } from './routes.js'

export const userTexts: TextsOf<typeof userRoutes> = {
  operations: {
    createUser:
      'For the access token of an account. The user gets a primary twin in the first digital quantity. The credentials are revoked when the reader of the address first proves it, except in a sandbox.',
    readUser:
      "Your own access token shows your own record with its secrets, but not those of newer client credentials; a session shows it without them. Another user's record needs the right `email`, and has no secrets.",
    listUsers: 'For the access token of an account. It lists the users that the account created.',
  },
  fields: {
    'listUsers.limit': WHOLE_LIST_LIMIT,
    created_at: 'When the user was created, in Unix seconds, as digits.',
    updated_at: 'When the user was changed last, in Unix seconds, as digits.',
    deleted_at: 'When the user was deleted, in Unix seconds, as digits. Null: they were not.',
    is_android: 'Whether the user has a device with Android.',
    is_ios: 'Whether the user has a device with iOS.',
    users: 'The users, newest first.',
    secrets: 'The client credentials of the user, newest first.',
    'readUser.email': "The email address of another user. It must be that user's.",
  },
  components: {
    User: { is: 'A user without secrets.' },
    KnownUserSecret: {
      is: 'Client credentials of a user.',
      client_secret: 'The secret. Null: they are newer than those of the access token.',
      created_at: 'When they were created, in Unix seconds, as digits.',
      updated_at: 'When they were changed last, in Unix seconds, as digits.',
      deleted_at: 'When they were revoked, in Unix seconds, as digits. Null: they work.',
    },
    UserSecret: {
      is: 'New client credentials of a user.',
      created_at: 'When they were created, in Unix seconds, as digits.',
      updated_at: 'When they were changed last, in Unix seconds, as digits.',
      deleted_at: 'When they were revoked, in Unix seconds, as digits. Null: they work.',
    },
  },
}
