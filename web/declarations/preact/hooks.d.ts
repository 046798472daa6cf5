import type { Context } from './preact.js';

export interface Ref<T> {
  current: T;
}
export function useState<T>(initial: T | (() => T)): [T, (next: T | ((previous: T) => T)) => void];
export function useReducer<S, A>(reducer: (state: S, action: A) => S, initial: S): [S, (action: A) => void];
export function useEffect(effect: () => void | (() => void), inputs?: readonly unknown[]): void;
export function useLayoutEffect(effect: () => void | (() => void), inputs?: readonly unknown[]): void;
export function useMemo<T>(compute: () => T, inputs: readonly unknown[]): T;
export function useCallback<T>(callback: T, inputs: readonly unknown[]): T;
export function useRef<T>(initial: T): Ref<T>;
export function useContext<T>(context: Context<T>): T;
export function useId(): string;
export function useErrorBoundary(callback?: (error: unknown) => void): [unknown, () => void];
