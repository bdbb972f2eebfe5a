// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Curves over the last minutes, drawn by uPlot.
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

export interface Line {
  name: string;
  color: string; // the name of a CSS variable
  values: (number | null)[];
}

interface Props {
  label: string;
  times: number[]; // seconds
  lines: Line[];
  format: (value: number) => string;
}

const heightPx = 150;
const leastSeconds = 60; // of the axis
const labelFont = '11px system-ui';
const ruler = document.createElement('canvas').getContext('2d')!;
ruler.font = labelFont;
const labelWidth = (text: string): number => Math.ceil(ruler.measureText(text).width);
const colorOf = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function optionsFor(width: number, { times: _, lines, format }: Props): uPlot.Options {
  const ink = colorOf('--faint');
  const grid = { stroke: colorOf('--line'), width: 1 };
  const axis = { stroke: ink, font: labelFont, grid, ticks: { show: false } };
  return {
    width,
    height: heightPx,
    cursor: { y: false, points: { size: 6 } },
    legend: { show: false },
    // The labels at the ends of the axes reach half their size beyond them.
    padding: [8, 30, 0, 0],
    scales: {
      x: { time: true, range: (_plot, low, high) => [Math.min(low, high - leastSeconds), high] },
      y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.1 : 1] },
    },
    axes: [
      { ...axis, space: 80, size: 24, values: '{HH}:{mm}:{ss}' as unknown as uPlot.Axis.Values },
      {
        ...axis,
        size: (_plot, texts) => 14 + Math.max(20, ...(texts ?? []).map(labelWidth)),
        space: 32,
        values: (_plot, splits) => splits.map(format),
      },
    ],
    series: [
      {},
      ...lines.map(({ name, color }) => ({
        label: name,
        stroke: colorOf(color),
        fill: `color-mix(in srgb, ${colorOf(color)} 10%, transparent)`,
        width: 1.5,
        points: { show: false },
      })),
    ],
  };
}

export function Curve(props: Props): JSX.Element {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const newest = useRef(props);
  newest.current = props;
  const dataOf = ({ times, lines }: Props): uPlot.AlignedData => [
    times,
    ...lines.map(({ values }) => values),
  ];

  useEffect(() => {
    const element = holder.current!;
    const draw = (): void => {
      plot.current?.destroy();
      const { current } = newest;
      plot.current = new uPlot(optionsFor(element.clientWidth, current), dataOf(current), element);
    };
    draw();
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', draw);
    const resized = new ResizeObserver(() => {
      plot.current?.setSize({ width: element.clientWidth, height: heightPx });
    });
    resized.observe(element);
    return () => {
      scheme.removeEventListener('change', draw);
      resized.disconnect();
      plot.current?.destroy();
    };
  }, [props.lines.length]);
  useEffect(() => plot.current?.setData(dataOf(props)), [props.times.at(-1)]);

  const { label, lines, format } = props;
  const last = lines.map(({ values }) => values.at(-1) ?? null);
  const text = lines.map(({ name }, i) => `${name}: ${last[i] === null ? 'none' : format(last[i]!)}`);
  return (
    <figure class="card curve" aria-label={`${label}; ${text.join(', ')}`}>
      <figcaption>
        <h2>{label}</h2>
        <ul>
          {lines.map(({ name, color }, index) => (
            <li key={name} class={`key ${color.slice(2)}`}>
              {name} <strong>{last[index] === null ? '–' : format(last[index]!)}</strong>
            </li>
          ))}
        </ul>
      </figcaption>
      <div ref={holder} class="plot" />
    </figure>
  );
}
