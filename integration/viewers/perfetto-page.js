// Takes a picture of a trace in Perfetto's page. See shot-perfetto.
'use strict';
const fs = require('fs');
const http = require('http');
const path = require('path');
const { chromium } = require('playwright-core');

const [web, file, picture, ...options] = process.argv.slice(2);
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm', '.json': 'application/json' };

const server = http.createServer((request, response) => {
  const asked = decodeURIComponent(request.url.split('?')[0]);
  const found = asked === '/trace' ? file : path.join(web, asked === '/' ? 'index.html' : path.normalize(asked));
  fs.readFile(found, (error, bytes) => {
    response.writeHead(error ? 404 : 200, { 'content-type': TYPES[path.extname(found)] ?? 'application/octet-stream' });
    response.end(bytes);
  });
});

async function run(page, base, errors) {
  await page.route((url) => url.hostname !== '127.0.0.1', (route) => route.abort());
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto(`${base}/#!/?url=${encodeURIComponent(base + '/trace')}`);
  await page.waitForFunction(() => document.querySelectorAll('.pf-track').length > 1 || document.querySelector('.pf-modal-dialog, .modal-dialog'));
  await page.waitForTimeout(1500);
  const dialog = await page.evaluate(() => document.querySelector('.pf-modal-dialog, .modal-dialog')?.innerText);
  if (dialog) errors.push(dialog.slice(0, 300));
  await page.keyboard.press('Control+Shift+P');
  await page.waitForTimeout(300);
  await page.keyboard.type('Expand all tracks');
  await page.waitForTimeout(300);
  await page.keyboard.press('Enter');
  await page.waitForTimeout(1200);
  if (options.includes('--select-all')) {
    await page.mouse.click(900, 300);
    await page.keyboard.press('Control+a');
    await page.waitForTimeout(1500);
  }
  const tracks = await page.evaluate(() => [...document.querySelectorAll('.pf-track__title, .pf-track-title, .pf-track__header')].map((title) => title.innerText.replace(/\s+/g, ' ').trim()));
  await page.screenshot({ path: picture });
  return tracks;
}

server.listen(0, '127.0.0.1', async () => {
  const errors = fs.existsSync(file) ? [] : ['no such file: ' + file];
  let tracks = [];
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
  });
  try {
    const page = await browser.newPage({ viewport: { width: 1600, height: 1100 } });
    if (!errors.length) tracks = await run(page, `http://127.0.0.1:${server.address().port}`, errors);
  } catch (error) {
    errors.push(error.message);
  }
  await browser.close();
  server.close();
  console.log(JSON.stringify({ ok: !errors.length && tracks.length > 0, errors, tracks }, null, 1));
  process.exit(!errors.length && tracks.length > 0 ? 0 : 1);
});
