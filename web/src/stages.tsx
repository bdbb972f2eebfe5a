// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The stages of a model: which machine has which layers, what each does at this moment, and what
// each did in the last minute.
import type { JSX } from 'preact';
import { type Hop, type Look, type ModelStatus, type Shares, sharesBetween } from './figures';
import { bytes, duration, percent } from './format';

const shownLooks = 60;
const kinds = [
  { key: 'compute', kind: 'computes', text: 'computing' },
  { key: 'transfer', kind: 'sends', text: 'in transfer' },
  { key: 'wait', kind: 'waits', text: 'waiting for other stages' },
] as const;

// The last of them are of this moment.
function historyOf(looks: readonly Look[], model: number, hop: number): (Shares | undefined)[] {
  const shown = looks.slice(-shownLooks - 1);
  return shown.slice(1).map((look, index) => sharesBetween(shown[index]!, look, model, hop));
}

// What it spent most of the last second with.
function momentOf(shares: Shares | undefined): string {
  if (!shares) return 'not measured yet';
  const busy = shares.compute + shares.transfer + shares.wait;
  if (busy < 0.05) return 'nothing to do';
  const most = kinds.reduce((a, b) => (shares[b.key] > shares[a.key] ? b : a));
  return `${most.text} ${percent(shares[most.key])}`;
}

// A column for each second, the newest at the right.
function Timeline({ history, label }: { history: (Shares | undefined)[]; label: string }): JSX.Element {
  return (
    <svg
      class="timeline"
      viewBox={`0 0 ${shownLooks} 100`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {history.map((shares, index) => {
        let top = 100;
        const x = shownLooks - history.length + index;
        return kinds.map(({ key, kind }) => {
          const height = 100 * (shares?.[key] ?? 0);
          top -= height;
          return height > 0 && <rect key={kind + x} class={kind} x={x} y={top} width={0.92} height={height} />;
        });
      })}
    </svg>
  );
}

const frameText = ({ frames, compute_ns: compute, send_ns: send, sent_bytes: sent }: Hop): string =>
  frames === 0
    ? 'no frame yet'
    : `${duration(compute / frames / 1e6)} a frame, ${duration(send / frames / 1e6)} to the next; ${bytes(sent)} sent`;

interface Props {
  model: ModelStatus;
  index: number;
  looks: readonly Look[];
}
export function Stages({ model, index, looks }: Props): JSX.Element | null {
  if (model.hops.length === 0) return null;
  return (
    <section class="stages" aria-label={`Stages of ${model.id}`}>
      <ol>
        {model.hops.map((hop, place) => {
          const history = historyOf(looks, index, place);
          const moment = momentOf(history.at(-1));
          return (
            <li
              key={place}
              class={`stage color-${place % 6}`}
              style={{ flexGrow: Math.max(1, hop.layer_end - hop.layer_begin) }}
            >
              <div class="stage-head">
                <strong>{hop.node}</strong>
                <span class="moment">{moment}</span>
              </div>
              <span>{hop.layers}</span>
              <Timeline history={history} label={`${hop.node} in the last minute; now: ${moment}`} />
              <small>{frameText(hop)}</small>
            </li>
          );
        })}
      </ol>
      <ul class="legend">
        {kinds.map(({ kind, text }) => (
          <li key={kind} class={`key ${kind}`}>
            {text}
          </li>
        ))}
        <li>the last minute, now at the right</li>
      </ul>
    </section>
  );
}
