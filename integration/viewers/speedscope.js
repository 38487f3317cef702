// Runs speedscope's page on a file and reports what it made of it. See check-speedscope.
'use strict';
const fs = require('fs');
const path = require('path');
const { chromium } = require('playwright-core');

const [speedscope, file, ...options] = process.argv.slice(2);
const option = (name) => (options.includes(name) ? options[options.indexOf(name) + 1] : null);
const TIMEOUT_MS = 120000;

// Runs in the page. It has no interface to its data, so the component that holds the loaded
// profiles is looked for in the tree of components.
function findLoaded(profileToView) {
  const seen = new Set();
  const queue = [document.body, ...document.body.querySelectorAll('*')].map((node) => node.__k);
  let group = null;
  let view = null;
  while (queue.length) {
    const node = queue.pop();
    if (!node || typeof node !== 'object' || seen.has(node)) continue;
    seen.add(node);
    if (Array.isArray(node)) {
      queue.push(...node);
      continue;
    }
    if (node.props?.profileGroup?.profiles) group = node.props.profileGroup;
    if (typeof node.props?.setProfileIndexToView === 'function') view = node.props.setProfileIndexToView;
    queue.push(node.__k);
  }
  if (!group) return null;
  if (profileToView !== null && view) view(profileToView);
  return group.profiles.map(({ profile }) => {
    let frames = 0;
    profile.forEachFrame(() => frames++);
    const depth = (node) => 1 + Math.max(0, ...node.children.map(depth));
    return {
      name: profile.getName(),
      unit: profile.getWeightUnit(),
      total: profile.getTotalWeight(),
      not_empty: profile.getTotalNonIdleWeight(),
      frames,
      depth: depth(profile.getAppendOrderCalltreeRoot()) - 1,
    };
  });
}

async function run(page, errors) {
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('dialog', (dialog) => {
    errors.push(dialog.message());
    dialog.dismiss().catch(() => {});
  });
  await page.goto('file://' + path.join(speedscope, 'dist/release/index.html'));
  const input = await page.waitForSelector('input[type=file]', { state: 'attached' });
  await input.setInputFiles(file);
  const wanted = option('--profile');
  let profiles = null;
  const end = Date.now() + TIMEOUT_MS;
  while (!profiles && !errors.length && Date.now() < end) {
    profiles = await page.evaluate(findLoaded, wanted === null ? null : Number(wanted));
    if (!profiles) await page.waitForTimeout(100);
  }
  if (option('--screenshot')) {
    await page.waitForTimeout(700);
    await page.screenshot({ path: option('--screenshot') });
  }
  return profiles;
}

(async () => {
  const errors = fs.existsSync(file) ? [] : ['no such file: ' + file];
  let profiles = null;
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--allow-file-access-from-files'],
  });
  try {
    if (!errors.length) profiles = await run(await browser.newPage({ viewport: { width: 1600, height: 900 } }), errors);
  } catch (error) {
    errors.push(error.message);
  }
  await browser.close();
  const ok = !errors.length && (profiles ?? []).some((profile) => profile.not_empty > 0);
  const { version } = JSON.parse(fs.readFileSync(path.join(speedscope, 'package.json')));
  console.log(JSON.stringify({ ok, speedscope: version, errors, profiles }, null, 1));
  process.exit(ok ? 0 : 1);
})();
