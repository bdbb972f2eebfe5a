// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Numbers for people.

export const count = (value: number): string => Math.round(value).toLocaleString('en');

export const plural = (value: number, one: string): string =>
  `${count(value)} ${one}${value === 1 ? '' : 's'}`;

// Three digits that matter.
export function digits(value: number): string {
  if (value === 0) return '0';
  return value.toLocaleString('en', { maximumSignificantDigits: value >= 1000 ? 4 : 3 });
}

export function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (; value >= 1000 && unit < units.length - 1; ++unit) value /= 1024;
  return `${digits(value)} ${units[unit]}`;
}

// As links are sold: powers of ten.
export function byteRate(value: number): string {
  const units = ['B/s', 'kB/s', 'MB/s', 'GB/s'];
  let unit = 0;
  for (; value >= 1000 && unit < units.length - 1; ++unit) value /= 1000;
  return `${digits(value)} ${units[unit]}`;
}

export function duration(ms: number): string {
  if (ms < 1) return `${digits(ms * 1000)} µs`;
  if (ms < 1000) return `${digits(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 100) return `${digits(seconds)} s`;
  const minutes = seconds / 60;
  if (minutes < 100) return `${Math.round(minutes)} min`;
  const hours = minutes / 60;
  return hours < 48 ? `${Math.round(hours)} h` : `${Math.round(hours / 24)} days`;
}

// Of what goes on: whole seconds are enough.
export const since = (ms: number): string => duration(Math.max(1, Math.round(ms / 1000)) * 1000);

export const percent = (part: number): string =>
  `${(part * 100).toLocaleString('en', { maximumFractionDigits: part < 0.1 ? 1 : 0 })} %`;

export function day(ms: number): string {
  const date = new Date(ms);
  const days = Math.floor((new Date().setHours(0, 0, 0, 0) - date.setHours(0, 0, 0, 0)) / 86_400_000);
  if (days <= 0) return 'Today';
  if (days === 1) return 'Yesterday';
  return days < 7 ? 'This week' : 'Earlier';
}
