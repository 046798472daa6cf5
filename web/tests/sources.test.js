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
const PREFIX = '/explorer/static/';

/** @param {string} folder @returns {string[]} */
function files(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? files(join(folder, entry.name)) : [join(folder, entry.name)]);
}

const sources = ['lib', 'explorer'].flatMap((folder) => files(join(WEB, folder)));
const modules = sources.filter((path) => path.endsWith('.js'));
/** @param {string} path */
const withoutComments = (path) => readFileSync(path, 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
/** @param {string} path @param {RegExp} pattern */
const imports = (path, pattern) => [...withoutComments(path).matchAll(pattern)].map((match) => join(dirname(path), /** @type {string} */ (match[1])));

test('every import and every file of the page exists', () => {
  assert.ok(modules.length > 40, `only ${modules.length} modules`);
  for (const path of modules) {
    for (const target of [...imports(path, IMPORT), ...imports(path, DYNAMIC_IMPORT)]) assert.ok(existsSync(target), `${path}: ${target}`);
  }
  const page = readFileSync(join(WEB, 'explorer/index.html'), 'utf8');
  const references = [...page.matchAll(/(?:href|src)="(\/[^"]+)"/g)].map((match) => /** @type {string} */ (match[1]));
  assert.ok(references.length > 5);
  for (const reference of references) assert.ok(reference.startsWith(PREFIX) && existsSync(join(WEB, reference.slice(PREFIX.length))), reference);
});

test('the page preloads the modules of its frame', () => {
  const seen = new Set();
  /** @param {string} path */
  const visit = (path) => {
    if (seen.has(path)) return;
    seen.add(path);
    imports(path, IMPORT).forEach(visit);
  };
  const app = join(WEB, 'explorer/app.js');
  visit(app);
  seen.delete(app);
  const page = readFileSync(join(WEB, 'explorer/index.html'), 'utf8');
  const preloaded = [...page.matchAll(/modulepreload" href="([^"]+)"/g)].map((match) => join(WEB, /** @type {string} */ (match[1]).slice(PREFIX.length)));
  assert.deepEqual(preloaded.sort(), [...seen].sort());
});

test('no source writes markup or needs a weaker policy', () => {
  const forbidden = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|dangerouslySetInnerHTML|\sstyle=/;
  for (const path of sources) assert.doesNotMatch(withoutComments(path), forbidden, path);
  const page = readFileSync(join(WEB, 'explorer/index.html'), 'utf8');
  assert.doesNotMatch(page, /<style|<script(?![^>]*\ssrc=)|\son\w+=|https?:\/\/(?!www\.w3\.org\/2000\/svg)/);
});

test('files stay short', () => {
  for (const path of modules) {
    const lines = readFileSync(path, 'utf8').split('\n').length;
    assert.ok(lines <= MAX_LINES, `${path} has ${lines} lines`);
  }
});

test('the first view has less than 150 KB compressed', () => {
  const seen = new Set();
  /** @param {string} path */
  const visit = (path) => {
    if (seen.has(path)) return;
    seen.add(path);
    if (path.endsWith('.js')) for (const target of imports(path, IMPORT)) visit(target);
  };
  const extra = ['explorer/app.js', 'explorer/pages/home.js', 'vendor/uplot/uplot.js', 'explorer/index.html', 'lib/theme.css', 'explorer/explorer.css', 'vendor/uplot/uplot.css'];
  extra.map((path) => join(WEB, path)).forEach(visit);
  const size = [...seen].reduce((sum, path) => sum + gzipSync(readFileSync(path)).length, 0);
  assert.ok(seen.size > 30 && statSync(join(WEB, 'explorer/app.js')).size > 0);
  assert.ok(size < MAX_FIRST_VIEW, `${size} bytes`);
});
