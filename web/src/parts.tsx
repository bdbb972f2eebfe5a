// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Small parts of the cluster's view.
import type { ComponentChildren, JSX } from 'preact';

interface BarProps {
  label: string;
  parts: { value: number; kind: string; text: string }[];
  limit: number;
  text: string;
}
// A part of a whole, with its numbers beside it.
export function Bar({ label, parts, limit, text }: BarProps): JSX.Element {
  return (
    <div class="meter">
      <div class="meter-head">
        <span>{label}</span>
        <span>{text}</span>
      </div>
      <div class="track" role="img" aria-label={`${label}: ${text}`}>
        {parts.map(({ value, kind, text: title }) => (
          <span
            key={kind}
            class={kind}
            title={title}
            style={{ width: `${limit > 0 ? Math.min(100, (100 * value) / limit) : 0}%` }}
          />
        ))}
      </div>
    </div>
  );
}

export const Figure = ({
  label,
  children,
  note,
}: {
  label: string;
  children: ComponentChildren;
  note?: string | undefined;
}): JSX.Element => (
  <div class="figure">
    <dt>{label}</dt>
    <dd>{children}</dd>
    {note && <dd class="faint">{note}</dd>}
  </div>
);
