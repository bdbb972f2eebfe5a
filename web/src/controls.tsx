// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Small parts that the whole page uses.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

const paths = {
  plus: 'M12 5v14M5 12h14',
  send: 'M12 19V6M6 11l6-6 6 6',
  stop: 'M7 7h10v10H7z',
  copy: 'M9 9h10v10H9zM5 15V5h10',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  edit: 'M4 20h4L19 9l-4-4L4 16z',
  retry: 'M19 12a7 7 0 1 1-2.2-5.1M19 4v4h-4',
  repeat: 'M5 9h14M5 15h14',
  trash: 'M5 7h14M10 7V5h4v2M7 7l1 12h8l1-12',
  menu: 'M4 7h16M4 12h16M4 17h16',
  sliders: 'M4 8h8M16 8h4M4 16h4M12 16h8M12 8a2 2 0 1 0 4 0 2 2 0 1 0-4 0M8 16a2 2 0 1 0 4 0 2 2 0 1 0-4 0',
  close: 'M6 6l12 12M18 6L6 18',
  left: 'M14 7l-5 5 5 5',
  right: 'M10 7l5 5-5 5',
  down: 'M12 5v13M6 12l6 6 6-6',
  chat: 'M4 5h16v11H10l-5 4v-4H4z',
  saved: 'M6 4h12v16l-6-4-6 4z',
  cluster:
    'M6 18L12 6l6 12M12 6v0M4.5 18a1.5 1.5 0 1 0 3 0 1.5 1.5 0 1 0-3 0M16.5 18a1.5 1.5 0 1 0 3 0 1.5 1.5 0 1 0-3 0M10.5 6a1.5 1.5 0 1 0 3 0 1.5 1.5 0 1 0-3 0',
};
export type IconName = keyof typeof paths;

export const Icon = ({ name }: { name: IconName }): JSX.Element => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
);

interface IconButtonProps {
  icon: IconName;
  label: string;
  onClick: () => void;
  text?: string;
  class?: string;
  disabled?: boolean;
  expanded?: boolean;
}
export const IconButton = (props: IconButtonProps): JSX.Element => (
  <button
    type="button"
    class={`icon-button ${props.class ?? ''}`}
    aria-label={props.label}
    title={props.label}
    disabled={props.disabled}
    aria-expanded={props.expanded}
    onClick={props.onClick}
  >
    <Icon name={props.icon} />
    {props.text && <span>{props.text}</span>}
  </button>
);

// Where the page came by plain HTTP from another machine, browsers have no clipboard for it.
async function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'hidden';
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}

export function CopyButton({ text, label }: { text: string; label: string }): JSX.Element {
  const [isDone, setDone] = useState(false);
  const onClick = (): void => {
    void copy(text).then(() => {
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    });
  };
  return <IconButton icon={isDone ? 'check' : 'copy'} label={isDone ? 'Copied' : label} onClick={onClick} />;
}

export const Logo = (): JSX.Element => (
  <svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
    <path d="M7 23 16 7l9 16" />
    <circle cx="16" cy="7" r="3.2" />
    <circle cx="7" cy="23" r="2.6" />
    <circle cx="25" cy="23" r="2.6" />
  </svg>
);
