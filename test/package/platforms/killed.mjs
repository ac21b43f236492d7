// A process that dies while it has a storage open.
import { fileStorage } from 'farthing/storage/file'

await fileStorage({ file: 'state/data.json' })
process.kill(process.pid, 'SIGKILL')
