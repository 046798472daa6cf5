export type Values = (number | null | undefined)[];
export type AlignedData = [number[], ...Values[]];
export interface Options {
  width: number;
  height: number;
  [name: string]: unknown;
}
export default class uPlot {
  constructor(options: Options, data: AlignedData, target: HTMLElement);
  static paths: Record<string, (options: object) => unknown>;
  setData(data: AlignedData): void;
  setSize(size: { width: number; height: number }): void;
  destroy(): void;
}
