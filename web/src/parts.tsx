// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Small parts of the cluster's view.
import type { ComponentChildren, JSX } from 'preact';
import type { DiskCacheStatus } from './figures';
import { bytes, percent, plural } from './format';

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
      <div class="track" aria-hidden="true">
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

export function DiskCache({ disk }: { disk: DiskCacheStatus | null | undefined }): JSX.Element | null {
  if (!disk) return null;
  const found =
    disk.looked_for_pages > 0 ? `; ${percent(disk.found_pages / disk.looked_for_pages)} of pages found` : '';
  return (
    <Bar
      label="Disk cache"
      limit={disk.bytes_limit}
      parts={[{ value: disk.bytes, kind: 'cached', text: bytes(disk.bytes) }]}
      text={`${bytes(disk.bytes)} of ${bytes(disk.bytes_limit)} in ${plural(disk.files, 'file')}; ${plural(disk.loaded_tokens, 'token')} loaded${found}`}
    />
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
