import express from 'express'
import { client } from 'farthing/client'
import { articles } from './articles.js'
import { paidArticles } from './paid-articles.js'

// `farthing exec` sets these for a sandbox. Set your own for the live service.
const {
  FARTHING_URL: serviceUrl = '',
  FARTHING_CLIENT_ID: client_id = '',
  FARTHING_CLIENT_SECRET: client_secret = '',
  FARTHING_PUBLIC_SECRET: publicSecret = '',
  PORT = '3000',
} = process.env

const seller = client(serviceUrl).as({ client_id, client_secret })
express()
  .use('/articles', paidArticles(seller, { serviceUrl, publicSecret }, articles))
  .listen(Number(PORT), () => console.log(`http://localhost:${PORT}/articles/on-small-coins`))
