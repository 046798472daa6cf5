// Preact with htm: templates without a build step.

import htm from '../../vendor/htm/htm.js';
import { h } from '../../vendor/preact/preact.js';

export { Fragment, createContext, h, render } from '../../vendor/preact/preact.js';
export {
  useCallback, useContext, useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useRef, useState,
} from '../../vendor/preact/hooks.js';

/** @typedef {import('../../vendor/preact/preact.js').Child} Child */

export const html = htm.bind(h);

/**
 * Returns a listener that passes on the value of the field.
 * @param {(value: string) => void} set
 */
export const onValue = (set) => (/** @type {{currentTarget: {value: string}}} */ event) => set(event.currentTarget.value);
