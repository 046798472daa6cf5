// Days in UTC, as users write them.

export const DAY_PROBLEM = 'must be a day such as 2026-05-31';

/**
 * Returns the Unix time in seconds at which a day begins; null if the text is no day.
 * @param {string} text
 */
export function unixTime(text) {
  const day = text.trim();
  const ms = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  return Number.isNaN(ms) ? null : ms / 1000;
}
