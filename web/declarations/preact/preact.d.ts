/** A virtual node, or anything else that Preact renders. */
export type Child = object | string | number | bigint | boolean | null | undefined | Child[];
export interface VNode {
  type: unknown;
  props: unknown;
}
export type Component<P> = (props: P) => Child;
export interface Context<T> {
  Provider: Component<{ value: T; children?: Child }>;
}
export function h(type: unknown, props: object | null, ...children: unknown[]): VNode;
export function render(node: Child, parent: Element): void;
export function createContext<T>(value: T): Context<T>;
export const Fragment: Component<{ children?: Child }>;
export const options: Record<string, unknown>;
