// Text from the chain, such as token names and decoded strings. Preact escapes it; these functions make it readable.

// Control characters, and characters that change the direction or are invisible: they could disguise a name. The
// variation selectors that choose between the text and the picture of a character stay.
const CONFUSING = /(?![\ufe0e\ufe0f])[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]/gu;
/** Marks of one character beyond those that any script stacks: they would cover the lines above and below. */
const STACKED = /(\p{M}{3})\p{M}+/gu;
/** Text without a character that a reader sees. */
const BLANK = /^[\p{C}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}\u2800\ufffd]*$/u;
const MAX_TEXT = 2000;
/** Characters that are searched for stacked marks, for each character that is shown. */
const MAX_SEARCHED = 4;

/**
 * Returns the text with a visible mark in place of each control, direction or invisible character, with at most three
 * combining marks a character, and cut to a maximum length.
 * @param {string} text
 * @param {number} [max] characters
 */
export function visibleText(text, max = MAX_TEXT) {
  const searched = text.slice(0, MAX_SEARCHED * max).replace(STACKED, '$1');
  const shown = searched.slice(0, max).replace(CONFUSING, (character) => (character === '\n' ? '\n' : '\ufffd'));
  return searched.length > max || text.length > MAX_SEARCHED * max ? `${shown}…` : shown;
}

/**
 * Returns the name of a token or contract on one line. A name of spaces, fillers and marks is empty.
 * @param {string} text
 * @param {number} [max] characters
 */
export function visibleName(text, max = 40) {
  const shown = visibleText(text, max).replaceAll('\n', ' ').trim();
  return BLANK.test(shown.replace(/…$/, '')) ? '' : shown;
}
