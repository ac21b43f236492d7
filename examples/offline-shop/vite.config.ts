import { defineConfig } from 'vite'

export default defineConfig({
  // The files work below any path of any host.
  base: './',
  // A worker answers the pages beside and below its own file, so it is beside index.html.
  worker: { rolldownOptions: { output: { entryFileNames: '[name].js' } } },
})
