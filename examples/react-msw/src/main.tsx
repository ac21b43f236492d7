import { createRoot } from 'react-dom/client'
import { Article } from './article'

// Only `npm run dev` has the service in the page. The build for production has no farthing in it.
if (import.meta.env.DEV) await (await import('./mocks-browser')).start()

const app = document.getElementById('app')
if (app) createRoot(app).render(<Article hash="00000000-0000-4000-8000-0000000000a1" />)
