// Loading of data for a component.

import { isAbort } from '../rpc.js';
import { useCallback, useEffect, useRef, useState } from './ui.js';

/**
 * @template T
 * @typedef {{data: T | null, error: Error | null, isLoading: boolean, reload: () => void}} Loaded
 */

/**
 * Loads data when the component appears and whenever an input changes. During a reload, the previous data stays.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @param {readonly unknown[]} inputs
 * @returns {Loaded<T>}
 */
export function useRequest(load, inputs) {
  const [round, setRound] = useState(0);
  const [state, setState] = useState(
    /** @type {{data: T | null, error: Error | null, isLoading: boolean}} */ ({ data: null, error: null, isLoading: true }),
  );
  const previous = useRef(/** @type {readonly unknown[]} */ ([]));
  useEffect(() => {
    const controller = new AbortController();
    const isSame = previous.current.length === inputs.length && inputs.every((one, index) => one === previous.current[index]);
    previous.current = inputs;
    setState((before) => ({ data: isSame ? before.data : null, error: isSame ? before.error : null, isLoading: true }));
    load(controller.signal).then(
      (data) => {
        if (!controller.signal.aborted) setState({ data, error: null, isLoading: false });
      },
      (error) => {
        if (controller.signal.aborted || isAbort(error)) return;
        setState((before) => ({ data: before.data, error, isLoading: false }));
      },
    );
    return () => controller.abort();
  }, [...inputs, round]);
  const reload = useCallback(() => setRound((count) => count + 1), []);
  return { ...state, reload };
}

const MAX_WAIT = 30_000;

/**
 * Loads again some time after each load, and later after each failure in a row; null stops.
 * @param {{isLoading: boolean, error: unknown, reload: () => void}} request
 * @param {number | null} ms
 */
export function useRepeat({ isLoading, error, reload }, ms) {
  const failures = useRef(0);
  useEffect(() => {
    if (ms === null || isLoading) return undefined;
    failures.current = error ? failures.current + 1 : 0;
    const timer = setTimeout(reload, Math.min(MAX_WAIT, ms * 2 ** failures.current));
    return () => clearTimeout(timer);
  }, [ms, isLoading]);
}
