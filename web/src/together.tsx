// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Who wrote which part of an ensemble's answer, and why that was taken.
import type { JSX } from 'preact';
import { digits } from './format';
import type { Candidate, Ensemble, Span } from './types';

const reasons: Record<string, string> = {
  alone: 'no other model was there',
  agreed: 'the others would have written the same',
  likely: 'more probable than all else together',
  contested: 'the most probable of several',
  surest: 'each was certain of its own, and of this one until the end',
  mixed: 'drawn from the mean of all',
};

function bits(value: number | null | undefined): string {
  return typeof value === 'number' ? `${digits(value)} bits/byte` : 'not rated';
}

// What each member finds of a candidate.
function ratings(candidate: Candidate): string {
  const each = Object.entries(candidate.member_bits_per_byte ?? {});
  return each.map(([name, value]) => `${name}: ${bits(value)}`).join(', ');
}

function Dropped({ candidates }: { candidates: Candidate[] }): JSX.Element | null {
  const others = candidates.filter((candidate) => !candidate.taken);
  if (others.length === 0) return null;
  return (
    <>
      {others.map((candidate) => (
        <p key={candidate.text} class="note" title={ratings(candidate)}>
          Not taken, {candidate.authors.join(' and ')} ({bits(candidate.bits_per_byte)}): {candidate.text}
        </p>
      ))}
    </>
  );
}

function Part({ span }: { span: Span }): JSX.Element | null {
  const taken = span.candidates.find((candidate) => candidate.taken);
  if (!taken) return null;
  return (
    <div class="written">
      <p title={ratings(taken)}>
        <strong>{taken.authors.join(' and ')}</strong> ({reasons[span.decision] ?? span.decision}): {taken.text}
      </p>
      <Dropped candidates={span.candidates} />
    </div>
  );
}

export function Together({ ensemble }: { ensemble: Ensemble }): JSX.Element {
  const absent = ensemble.members.filter((member) => member.absence);
  const whole = ensemble.candidates.find((candidate) => candidate.taken);
  return (
    <details class="together">
      <summary>
        Written by {whole?.authors.join(' and ') ?? ensemble.author} ({ensemble.policy})
        {absent.length > 0 && `, without ${absent.map((member) => member.name).join(' and ')}`}
      </summary>
      {ensemble.policy_reason && (
        <p class="note">
          By {ensemble.policy}: {ensemble.policy_reason}.
        </p>
      )}
      {ensemble.spans?.map((span, index) => <Part key={index} span={span} />)}
      {!ensemble.spans && whole && <p class="note">{ratings(whole) || 'All members answered the same.'}</p>}
      {!ensemble.spans && <Dropped candidates={ensemble.candidates} />}
      {absent.map((member) => (
        <p key={member.name} class="note">
          {member.name}: {member.absence}
        </p>
      ))}
    </details>
  );
}
