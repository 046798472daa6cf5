// QR codes as a path of an SVG.

import qrcode from '../vendor/qrcode-generator/qrcode.js';

/**
 * Returns a path with one square for each dark module, in a drawing of `size` by `size`.
 * @param {string} text ASCII
 */
export function qrPath(text) {
  const code = qrcode(0, 'M');
  code.addData(text, 'Byte');
  code.make();
  const size = code.getModuleCount();
  let d = '';
  for (let row = 0; row < size; row += 1) {
    for (let column = 0; column < size; column += 1) {
      if (code.isDark(row, column)) d += `M${column} ${row}h1v1h-1z`;
    }
  }
  return { d, size };
}
