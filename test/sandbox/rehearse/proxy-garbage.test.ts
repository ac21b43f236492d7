import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { startProxy, startService } from './proxied.js'

test.each(['/pay', '/other'])('%s: what comes in the middle of an answer is no part of it', async (path) => {
  const { url, asked } = await startService((response) => void response.writeHead(200).write('part one'.repeat(10)))
  const { port } = await startProxy(url)
  const answer = await new Promise<string>((resolve) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(`POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n`)
    })
    const garbage = setTimeout(() => socket.write('no HTTP\r\n\r\n'), 100)
    socket.setTimeout(1000, () => socket.destroy())
    socket.on('data', (piece) => {
      text += piece
    })
    socket.once('close', () => {
      clearTimeout(garbage)
      resolve(text)
    })
  })
  expect(answer).not.toContain('farthing proxy')
  expect(asked).toHaveLength(1)
})
