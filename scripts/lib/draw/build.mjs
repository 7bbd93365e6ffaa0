// Bundles draw.jsx with the data of one dashboard into one script: node build.mjs FRAMES.json OUT.js
import * as esbuild from 'esbuild';

const [frames, outfile] = process.argv.slice(2);
await esbuild.build({
  entryPoints: [new URL('draw.jsx', import.meta.url).pathname],
  alias: { 'frames.json': frames },
  bundle: true,
  outfile,
  format: 'iife',
  platform: 'browser',
  jsx: 'automatic',
  minify: true,
  logLevel: 'warning',
  define: { 'process.env.NODE_ENV': '"production"', global: 'window' },
  loader: Object.fromEntries(['.svg', '.woff2', '.woff', '.ttf', '.png'].map((ending) => [ending, 'dataurl'])),
  mainFields: ['module', 'browser', 'main'],
  nodePaths: process.env.NODE_PATH ? [process.env.NODE_PATH] : [],
});
