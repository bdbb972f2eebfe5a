// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Builds the page into dist/, which is committed: files with fixed names, and the licences of what
// is bundled. `npm run dev` takes the requests of the page to a server on port 8080.
import { readFileSync } from 'node:fs';
import { defineConfig, type Plugin } from 'vite';

const bundled = ['preact', 'uplot'];

function licences(): Plugin {
  return {
    name: 'licences',
    generateBundle() {
      const texts = bundled.map((name) => {
        const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8'));
        const text = readFileSync(`node_modules/${name}/LICENSE`, 'utf8').trim();
        return `${name} ${version}\n\n${text}\n`;
      });
      this.emitFile({
        type: 'asset',
        fileName: 'licences.txt',
        source: `The page uses these libraries.\n\n${texts.join('\n\n')}`,
      });
    },
  };
}

export default defineConfig({
  plugins: [licences()],
  build: {
    target: 'es2022',
    modulePreload: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        entryFileNames: 'page.js',
        assetFileNames: (asset) => (asset.names[0]?.endsWith('.css') ? 'page.css' : '[name][extname]'),
      },
    },
  },
  server: {
    proxy: Object.fromEntries(
      ['/v1', '/health', '/ready', '/metrics'].map((path) => [path, 'http://127.0.0.1:8080']),
    ),
  },
});
