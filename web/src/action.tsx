// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What a button makes the server do, and what went wrong.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

// What a button does, and what became of it.
export function useAction(): { isBusy: boolean; problem: string; act: (work: () => Promise<unknown>) => void } {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const act = (work: () => Promise<unknown>): void => {
    setBusy(true);
    setProblem('');
    work()
      .catch((error: Error) => setProblem(error.message))
      .finally(() => setBusy(false));
  };
  return { isBusy, problem, act };
}

export const Problem = ({ text }: { text: string }): JSX.Element | null =>
  text ? (
    <p class="problem" role="alert">
      {text}
    </p>
  ) : null;
