// Charts by uPlot, which is loaded with the first chart.

import { html, useEffect, useRef, useState } from './ui.js';

/** @typedef {import('../../vendor/uplot/uplot.js').AlignedData} AlignedData */
/** @typedef {import('../../vendor/uplot/uplot.js').default} Plot */
/** @typedef {typeof import('../../vendor/uplot/uplot.js').default} PlotClass */
/** @typedef {{color: string, style: 'bars' | 'line' | 'points', format: (value: number) => string}} Series */

const HEIGHT = 132;
const MIN_WIDTH = 120;
const RETRY_MS = 2000;

/** @type {Promise<PlotClass | null> | null} */
let loading = null;

/** Returns uPlot, or null while the node does not serve it. */
function loadPlot() {
  loading ??= import('../../vendor/uplot/uplot.js').then(
    (module) => module.default,
    () => {
      loading = null;
      return null;
    },
  );
  return loading;
}

/** @param {string} name a custom property of the theme */
const themeColor = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** @param {unknown} _plot @param {number} _min @param {number} max */
const rangeFromZero = (_plot, _min, max) => [0, max > 0 ? max * 1.15 : 1];

/** @param {(value: number) => string} format */
const labels = (format) => (/** @type {unknown} */ _plot, /** @type {number[]} */ values) => values.map(format);

/**
 * @param {PlotClass} UPlot
 * @param {Series} series
 * @param {(value: number) => string} formatX
 * @param {number} width
 */
function chartOptions(UPlot, series, formatX, width) {
  const [line, text, color] = ['--line', '--muted', series.color].map(themeColor);
  const grid = { stroke: line, width: 1 };
  const font = '11px system-ui, sans-serif';
  const paths = series.style === 'bars' ? UPlot.paths['bars']?.({ size: [0.7, 24] }) : undefined;
  const axis = { stroke: text, grid, ticks: { show: false }, font };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 5 } },
    scales: { x: { time: false }, y: { range: rangeFromZero } },
    axes: [
      { ...axis, grid: { show: false }, size: 22, values: labels(formatX) },
      { ...axis, size: 52, values: labels(series.format) },
    ],
    series: [
      {},
      {
        stroke: color,
        width: series.style === 'bars' ? 0 : 1.5,
        fill: series.style === 'bars' ? color : undefined,
        paths: series.style === 'points' ? () => null : paths,
        points: { show: series.style === 'points', size: 5, fill: color },
      },
    ],
  };
}

/**
 * Chart of one series. Screen readers get its newest value, and the data as text.
 * @param {{title: string, data: AlignedData, series: Series, formatX: (value: number) => string}} props
 */
export function Chart({ title, data, series, formatX }) {
  const target = useRef(/** @type {HTMLElement | null} */ (null));
  const plot = useRef(/** @type {Plot | null} */ (null));
  const newest = useRef(data);
  newest.current = data;
  const [UPlot, setUPlot] = useState(/** @type {PlotClass | null} */ (null));
  useEffect(() => {
    let isGone = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let retry;
    const load = async () => {
      const found = await loadPlot();
      if (isGone) return;
      if (found !== null) setUPlot(() => found);
      else retry = setTimeout(load, RETRY_MS);
    };
    void load();
    return () => {
      isGone = true;
      clearTimeout(retry);
    };
  }, []);
  useEffect(() => {
    const element = target.current;
    if (element === null || UPlot === null) return undefined;
    const width = () => Math.max(MIN_WIDTH, element.clientWidth);
    const draw = () => {
      plot.current?.destroy();
      plot.current = new UPlot(chartOptions(UPlot, series, formatX, width()), newest.current, element);
    };
    draw();
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', draw);
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: width(), height: HEIGHT }));
    observer.observe(element);
    return () => {
      dark.removeEventListener('change', draw);
      observer.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [UPlot]);
  useEffect(() => plot.current?.setData(data), [data]);
  const values = data[1] ?? [];
  const last = values[values.length - 1];
  return html`<figure class="chart">
    <figcaption><span>${title}</span>
      <strong class="number">${typeof last === 'number' ? series.format(last) : '–'}</strong></figcaption>
    <div class="chart-plot" ref=${target} role="img" aria-label=${`${title}, ${values.length} values`}></div>
  </figure>`;
}
