// Text from the chain, such as token names and decoded strings. Preact escapes it; these functions make it readable.

// Control characters, and characters that change the direction or are invisible: they could disguise a name.
const CONFUSING = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\u2028\u2029]/gu;
const MAX_TEXT = 2000;

/**
 * Returns the text with a visible mark in place of each control, direction or invisible character, and cut to a
 * maximum length.
 * @param {string} text
 * @param {number} [max] characters
 */
export function visibleText(text, max = MAX_TEXT) {
  const shown = text.slice(0, max).replace(CONFUSING, (character) => (character === '\n' ? '\n' : '\ufffd'));
  return text.length > max ? `${shown}…` : shown;
}

/**
 * Returns the name of a token or contract on one line.
 * @param {string} text
 * @param {number} [max] characters
 */
export const visibleName = (text, max = 40) => visibleText(text, max).replaceAll('\n', ' ').trim();
