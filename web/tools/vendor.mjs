// Copies the browser libraries from npm packages into web/vendor and records them in vendor.json.
//
//   node web/tools/vendor.mjs           downloads the packages (npm pack) and writes the files
//   node web/tools/vendor.mjs --check   compares the files with the hashes in vendor.json, without a network
//
// Browsers resolve no bare module names without an import map, and an import map must be inline, which the pages'
// Content-Security-Policy forbids. Bare names therefore become relative paths. vendor.json lists these replacements
// and the hash of each original file.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const VENDOR = join(dirname(fileURLToPath(import.meta.url)), '..', 'vendor');
const HASHES = { "'@noble/hashes/": "'../noble-hashes/" };
const HASHES_FROM_ABSTRACT = { "'@noble/hashes/": "'../../noble-hashes/" };

/** @type {{name: string, version: string, folder: string, files: {from: string, to?: string, replace?: Record<string, string>, append?: string}[]}[]} */
const PACKAGES = [
  {
    name: 'preact',
    version: '11.2.0',
    folder: 'preact',
    files: [
      { from: 'LICENSE' },
      { from: 'dist/preact.mjs', to: 'preact.js', replace: { '\n//# sourceMappingURL=preact.mjs.map': '' } },
      {
        from: 'hooks/dist/hooks.mjs',
        to: 'hooks.js',
        replace: { 'from"preact"': 'from"./preact.js"', '\n//# sourceMappingURL=hooks.mjs.map': '' },
      },
    ],
  },
  {
    name: 'htm',
    version: '3.1.1',
    folder: 'htm',
    files: [{ from: 'LICENSE' }, { from: 'dist/htm.mjs', to: 'htm.js' }],
  },
  {
    name: 'uplot',
    version: '1.6.32',
    folder: 'uplot',
    files: [
      { from: 'LICENSE' },
      { from: 'dist/uPlot.iife.min.js', to: 'uplot.js', append: '\nexport default uPlot;\n' },
      { from: 'dist/uPlot.min.css', to: 'uplot.css' },
    ],
  },
  {
    // Its licence is at the top of the module.
    name: 'qrcode-generator',
    version: '2.0.4',
    folder: 'qrcode-generator',
    files: [{ from: 'dist/qrcode.mjs', to: 'qrcode.js' }],
  },
  {
    name: '@noble/hashes',
    version: '2.4.0',
    folder: 'noble-hashes',
    files: ['LICENSE', '_md.js', '_u64.js', 'hmac.js', 'sha2.js', 'sha3.js', 'utils.js'].map((from) => ({ from })),
  },
  {
    name: '@noble/curves',
    version: '2.4.0',
    folder: 'noble-curves',
    files: [
      { from: 'LICENSE' },
      { from: 'utils.js', replace: HASHES },
      ...['curve', 'der', 'modular', 'weierstrass'].map((name) => ({
        from: `abstract/${name}.js`,
        replace: HASHES_FROM_ABSTRACT,
      })),
    ],
  },
];

/** @param {string | Uint8Array} content */
const sha256 = (content) => createHash('sha256').update(content).digest('hex');

/**
 * @param {string} original
 * @param {{from: string, replace?: Record<string, string>, append?: string}} file
 * @returns {{text: string, replaced: Record<string, string>}}
 */
function adapted(original, { from, replace = {}, append = '' }) {
  let text = original;
  /** @type {Record<string, string>} */
  const replaced = {};
  for (const [before, after] of Object.entries(replace)) {
    if (!text.includes(before)) {
      if (before.startsWith("'@noble")) continue;
      throw new Error(`${from} does not contain ${before}`);
    }
    text = text.replaceAll(before, after);
    replaced[before] = after;
  }
  return { text: text + append, replaced };
}

function write() {
  const folder = mkdtempSync(join(tmpdir(), 'vendor-'));
  const packages = PACKAGES.map((wanted) => {
    const options = /** @type {const} */ ({ cwd: folder, encoding: 'utf8' });
    const spec = `${wanted.name}@${wanted.version}`;
    const packed = execFileSync('npm', ['pack', '--silent', spec], options).trim();
    execFileSync('tar', ['xzf', packed], options);
    const read = (/** @type {string} */ path) => readFileSync(join(folder, 'package', path), 'utf8');
    const { license } = JSON.parse(read('package.json'));
    const files = wanted.files.map((file) => {
      const original = read(file.from);
      const { text, replaced } = adapted(original, file);
      const path = `${wanted.folder}/${file.to ?? file.from}`;
      mkdirSync(dirname(join(VENDOR, path)), { recursive: true });
      writeFileSync(join(VENDOR, path), text);
      const change = {
        ...(Object.keys(replaced).length ? { replaced } : {}),
        ...(file.append ? { appended: file.append } : {}),
      };
      const changed = text === original ? {} : { originSha256: sha256(original), ...change };
      return { path, origin: file.from, sha256: sha256(text), ...changed };
    });
    rmSync(join(folder, 'package'), { recursive: true });
    return { name: wanted.name, version: wanted.version, licence: license, files };
  });
  rmSync(folder, { recursive: true });
  writeFileSync(join(VENDOR, 'vendor.json'), `${JSON.stringify({ packages }, null, 2)}\n`);
}

function check() {
  const { packages } = JSON.parse(readFileSync(join(VENDOR, 'vendor.json'), 'utf8'));
  const files = packages.flatMap((/** @type {{files: {path: string, sha256: string}[]}} */ one) => one.files);
  const wrong = files.filter((/** @type {{path: string, sha256: string}} */ file) =>
    sha256(readFileSync(join(VENDOR, file.path))) !== file.sha256);
  for (const { path } of wrong) console.error(`web/vendor/${path} differs from its hash in vendor.json`);
  if (files.length === 0) console.error('vendor.json lists no file');
  process.exitCode = wrong.length || files.length === 0 ? 1 : 0;
}

if (process.argv.includes('--check')) check();
else write();
