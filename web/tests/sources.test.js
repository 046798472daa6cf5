import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const WEB = join(dirname(fileURLToPath(import.meta.url)), '..');
const IMPORT = /(?:import|export)\s*(?:[\w*{}\s,$]+\s*from\s*)?["'](\.[^"']+)["']/g;
const DYNAMIC_IMPORT = /import\(["'](\.[^"']+)["']\)/g;
const MAX_FIRST_VIEW = 150_000;
const MAX_LINES = 400;

/** Pages, with the modules of their first view that the frame loads on demand, and its style sheets. */
const SITES = [
  {
    name: 'explorer', prefix: '/explorer/static/',
    view: ['explorer/app.js', 'explorer/pages/home.js', 'vendor/uplot/uplot.js', 'explorer/index.html', 'lib/theme.css', 'lib/frame.css', 'lib/table.css', 'explorer/explorer.css', 'vendor/uplot/uplot.css'],
  },
  {
    name: 'dashboard', prefix: '/dashboard/static/',
    view: ['dashboard/app.js', 'dashboard/pages/overview.js', 'vendor/uplot/uplot.js', 'dashboard/index.html', 'lib/theme.css', 'lib/frame.css', 'lib/table.css', 'dashboard/dashboard.css', 'vendor/uplot/uplot.css'],
  },
  {
    name: 'checkout', prefix: 'static/',
    view: ['checkout/app.js', 'checkout/index.html', 'lib/theme.css', 'lib/payment.css', 'checkout/checkout.css'],
  },
];

/** @param {string} folder @returns {string[]} */
function files(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? files(join(folder, entry.name)) : [join(folder, entry.name)]);
}

const sources = ['lib', ...SITES.map(({ name }) => name)].flatMap((folder) => files(join(WEB, folder)));
const modules = sources.filter((path) => path.endsWith('.js'));
/** @param {string} path */
const withoutComments = (path) => readFileSync(path, 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
/** @param {string} path @param {RegExp} pattern */
const imports = (path, pattern) => [...withoutComments(path).matchAll(pattern)].map((match) => join(dirname(path), /** @type {string} */ (match[1])));

/** Returns the modules that files import, also indirectly, and the files themselves. @param {string[]} paths */
function closure(paths) {
  const seen = new Set();
  /** @param {string} path */
  const visit = (path) => {
    if (seen.has(path)) return;
    seen.add(path);
    if (path.endsWith('.js')) imports(path, IMPORT).forEach(visit);
  };
  paths.forEach(visit);
  return seen;
}

test('every import exists', () => {
  assert.ok(modules.length > 70, `only ${modules.length} modules`);
  for (const path of modules) {
    for (const target of [...imports(path, IMPORT), ...imports(path, DYNAMIC_IMPORT)]) assert.ok(existsSync(target), `${path}: ${target}`);
  }
});

for (const { name, prefix, view } of SITES) {
  const page = readFileSync(join(WEB, name, 'index.html'), 'utf8');
  const app = join(WEB, name, 'app.js');

  test(`every file of ${name} exists`, () => {
    const references = [...page.matchAll(/(?:href|src)="(?!data:)([^"]+)"/g)].map((match) => /** @type {string} */ (match[1]));
    assert.ok(references.length > 5);
    for (const reference of references) assert.ok(reference.startsWith(prefix) && existsSync(join(WEB, reference.slice(prefix.length))), reference);
  });

  test(`${name} preloads the modules of its frame`, () => {
    const preloaded = [...page.matchAll(/modulepreload" href="([^"]+)"/g)].map((match) => join(WEB, /** @type {string} */ (match[1]).slice(prefix.length)));
    assert.deepEqual(preloaded.sort(), [...closure([app])].filter((path) => path !== app).sort());
  });

  test(`${name} needs no weaker policy`, () => {
    assert.doesNotMatch(page, /<style|<script(?![^>]*\ssrc=)|\son\w+=|https?:\/\/(?!www\.w3\.org\/2000\/svg)/);
  });

  test(`the first view of ${name} has less than 150 KB compressed`, () => {
    const seen = closure(view.map((path) => join(WEB, path)));
    const size = [...seen].reduce((sum, path) => sum + gzipSync(readFileSync(path)).length, 0);
    assert.ok(seen.size > 10 && statSync(app).size > 0);
    assert.ok(size < MAX_FIRST_VIEW, `${size} bytes`);
  });
}

test('no source writes markup', () => {
  const forbidden = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|dangerouslySetInnerHTML|\sstyle=/;
  for (const path of sources) assert.doesNotMatch(withoutComments(path), forbidden, path);
});

test('files stay short', () => {
  for (const path of modules) {
    const lines = readFileSync(path, 'utf8').split('\n').length;
    assert.ok(lines <= MAX_LINES, `${path} has ${lines} lines`);
  }
});
