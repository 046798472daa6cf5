// Times: an age that advances, and the date.

import { formatDuration } from '../values.js';
import { html, useEffect, useState } from './ui.js';

/** @type {Set<() => void>} */
const listeners = new Set();
/** @type {ReturnType<typeof setInterval> | null} */
let ticker = null;

/** Calls the listener each second. One timer serves all components. @param {() => void} listener */
function everySecond(listener) {
  listeners.add(listener);
  ticker ??= setInterval(() => listeners.forEach((run) => run()), 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0 && ticker !== null) {
      clearInterval(ticker);
      ticker = null;
    }
  };
}

/** Returns the current time in milliseconds, renewed each second. */
export function useNow() {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => everySecond(() => setNow(Date.now())), []);
  return now;
}

/** @param {number} ms */
const dateText = (ms) => new Date(ms).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** @param {number} ms */
function isoText(ms) {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString();
}

// A block's time may be ahead of the clock by the time of a block.
const MAX_AHEAD = 30_000;

/** The age of a time, or the time until it. @param {{ms: number}} props */
export function Age({ ms }) {
  const now = useNow();
  const age = now - ms;
  // The timestamp of a block is the end of its time, so it may be ahead of the clock.
  const text = age < -MAX_AHEAD ? `in ${formatDuration(-age)}` : age < 1000 ? 'now' : `${formatDuration(age < 10_000 ? Math.floor(age / 1000) * 1000 : age)} ago`;
  return html`<time class="number" datetime=${isoText(ms)} title=${dateText(ms)}>${text}</time>`;
}

/** A date with its age. @param {{ms: number}} props */
export function Timestamp({ ms }) {
  return html`<span><time class="number" datetime=${isoText(ms)}>${dateText(ms)}</time>
    <span class="muted"> (<${Age} ms=${ms} />)</span></span>`;
}
