// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The turns of a conversation, each with what may be done with it.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { CopyButton, Icon, IconButton } from './controls';
import { count, digits, duration, percent } from './format';
import { edit, giveResults, repeat, retry } from './generate';
import { Code, Prose } from './prose';
import { save } from './store';
import { Together } from './together';
import {
  type Answer,
  type AssistantTurn,
  type Conversation,
  type Repeat,
  type ToolCall,
  type Turn,
  type UserTurn,
  chosenAnswer,
} from './types';

interface EditorProps {
  text: string;
  onDone: (text: string) => void;
  onCancel: () => void;
}
function Editor({ text, onDone, onCancel }: EditorProps): JSX.Element {
  const area = useRef<HTMLTextAreaElement>(null);
  const [value, setValue] = useState(text);
  useEffect(() => {
    area.current?.focus();
    area.current?.setSelectionRange(text.length, text.length);
  }, []);
  const done = (): void => {
    if (value.trim()) onDone(value);
  };
  return (
    <div class="editor">
      <textarea
        ref={area}
        aria-label="Edit the message"
        value={value}
        rows={Math.min(12, value.split('\n').length + 1)}
        onInput={(event) => setValue(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onCancel();
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          done();
        }}
      />
      <div class="row end">
        <button type="button" class="quiet" onClick={onCancel}>
          Cancel
        </button>
        <button type="button" class="primary" disabled={!value.trim()} onClick={done}>
          Send
        </button>
      </div>
    </div>
  );
}

interface UserProps {
  conversation: Conversation;
  turn: UserTurn;
  isBusy: boolean;
  isEdited: boolean;
  onEdit: (id: string | undefined) => void;
}
export function UserMessage({ conversation, turn, isBusy, isEdited, onEdit }: UserProps): JSX.Element {
  return (
    <article class="turn user" aria-label="You">
      {isEdited ? (
        <Editor
          text={turn.text}
          onCancel={() => onEdit(undefined)}
          onDone={(text) => {
            onEdit(undefined);
            edit(conversation, turn, text);
          }}
        />
      ) : (
        <>
          <div class="bubble">{turn.text}</div>
          <div class="actions">
            <CopyButton text={turn.text} label="Copy message" />
            <IconButton icon="edit" label="Edit message" disabled={isBusy} onClick={() => onEdit(turn.id)} />
          </div>
        </>
      )}
    </article>
  );
}

function Reasoned({ answer, isRunning }: { answer: Answer; isRunning: boolean }): JSX.Element | null {
  if (!answer.reasoning) return null;
  const isReasoning = isRunning && answer.reasonedMs === undefined;
  const ms = (answer.reasonedMs ?? answer.tookMs ?? 0) - (answer.firstMs ?? 0);
  return (
    <details class="reasoning">
      <summary>
        {isReasoning ? <span class="pulse">Reasoning…</span> : `Reasoned for ${duration(Math.max(ms, 1))}`}
      </summary>
      <Prose text={answer.reasoning} />
    </details>
  );
}

function argumentsText(call: ToolCall): string {
  try {
    return JSON.stringify(JSON.parse(call.arguments), undefined, 2);
  } catch {
    return call.arguments;
  }
}

interface CallsProps {
  conversation: Conversation;
  turn: AssistantTurn;
  isLast: boolean;
  isRunning: boolean;
}
function Calls({ conversation, turn, isLast, isRunning }: CallsProps): JSX.Element | null {
  const { calls } = chosenAnswer(turn);
  const [results, setResults] = useState<string[]>([]);
  if (calls.length === 0) return null;
  const isWanted = isLast && !isRunning;
  return (
    <form
      class="calls"
      onSubmit={(event) => {
        event.preventDefault();
        giveResults(conversation, turn, results);
      }}
    >
      {calls.map((call, index) => (
        <div key={call.id || index} class="call">
          <div class="call-name">
            calls <strong>{call.name}</strong>
          </div>
          <Code language="json" text={argumentsText(call)} />
          {isWanted && (
            <textarea
              rows={2}
              class="mono"
              aria-label={`Result of ${call.name}`}
              placeholder={`Result of ${call.name}`}
              value={results[index] ?? ''}
              onInput={({ currentTarget: { value } }) =>
                setResults(calls.map((_, i) => (i === index ? value : (results[i] ?? ''))))
              }
            />
          )}
        </div>
      ))}
      {isWanted && (
        <div class="row end">
          <button class="primary">Give {calls.length === 1 ? 'the result' : 'results'}</button>
        </div>
      )}
    </form>
  );
}

const finishes: Record<string, string> = {
  length: 'The answer reached its greatest length.',
  stopped: 'Stopped.',
};

function Finish({ answer, isRunning }: { answer: Answer; isRunning: boolean }): JSX.Element | null {
  if (answer.error) {
    return (
      <p class="problem" role="alert">
        {answer.error}
      </p>
    );
  }
  const text = finishes[answer.finish ?? ''] ?? '';
  if (text) return <p class="note">{text}</p>;
  if (!isRunning && answer.finish === undefined) {
    return <p class="note">The page was closed while this was written.</p>;
  }
  return null;
}

function RepeatMark({ repeats }: { repeats: Repeat }): JSX.Element | null {
  if (repeats.same === undefined) return null;
  if (repeats.same) {
    return (
      <span class="mark same">
        <Icon name="check" />
        same answer as {repeats.of + 1}
      </span>
    );
  }
  return (
    <span class="mark other">
      differs from {repeats.of + 1} at character {count((repeats.differsAt ?? 0) + 1)}
    </span>
  );
}

function Figures({ answer }: { answer: Answer }): JSX.Element {
  const { usage, firstMs, tookMs, settings } = answer;
  const parts: [string, string][] = [];
  if (answer.model) parts.push([answer.model, 'Model']);
  if (usage) {
    parts.push([
      `${count(usage.answer)} tokens`,
      `Prompt: ${count(usage.prompt)} tokens, ${count(usage.cached)} of them from the KV cache`,
    ]);
  }
  if (usage && tookMs && firstMs !== undefined && usage.answer > 1 && tookMs > firstMs) {
    parts.push([
      `${digits(((usage.answer - 1) * 1000) / (tookMs - firstMs))} tokens/s`,
      'Between the first token and the last',
    ]);
  }
  if (firstMs !== undefined) parts.push([`first after ${duration(firstMs)}`, 'Time to first token']);
  if (usage && usage.drafted > 0) {
    parts.push([
      `${percent(usage.accepted / usage.drafted)} of drafts accepted`,
      `${count(usage.accepted)} of ${count(usage.drafted)} draft tokens`,
    ]);
  }
  parts.push([`seed ${settings.seed}`, 'With this seed and these settings the answer is the same again']);
  return (
    <>
      {parts.map(([text, title]) => (
        <span key={title} title={title}>
          {text}
        </span>
      ))}
    </>
  );
}

interface AssistantProps {
  conversation: Conversation;
  turn: AssistantTurn;
  running: Answer | undefined;
  isLast: boolean;
}
export function AssistantMessage({ conversation, turn, running, isLast }: AssistantProps): JSX.Element {
  const answer = chosenAnswer(turn);
  const isRunning = running === answer;
  const isBusy = running !== undefined;
  const choose = (index: number): void => {
    turn.chosen = index;
    save(conversation);
  };
  const isWaiting = isRunning && !answer.text && !answer.reasoning && answer.calls.length === 0;
  return (
    <article class="turn assistant" aria-label={answer.model || 'Answer'} aria-busy={isRunning}>
      <Reasoned answer={answer} isRunning={isRunning} />
      {isWaiting && (
        <p class="waiting">
          <span />
          <span />
          <span />
          {answer.reading && <Reading {...answer.reading} />}
          <Waited sinceMs={answer.startedMs} />
        </p>
      )}
      {answer.text && <Prose text={answer.text} />}
      <Calls conversation={conversation} turn={turn} isLast={isLast} isRunning={isRunning} />
      <Finish answer={answer} isRunning={isRunning} />
      {!isRunning && answer.ensemble && <Together ensemble={answer.ensemble} />}
      {!isRunning && (
        <footer>
          <div class="actions">
            {turn.answers.length > 1 && (
              <span class="choice">
                <IconButton
                  icon="left"
                  label="Earlier answer"
                  disabled={isBusy || turn.chosen === 0}
                  onClick={() => choose(turn.chosen - 1)}
                />
                <span>
                  {turn.chosen + 1} / {turn.answers.length}
                </span>
                <IconButton
                  icon="right"
                  label="Later answer"
                  disabled={isBusy || turn.chosen === turn.answers.length - 1}
                  onClick={() => choose(turn.chosen + 1)}
                />
              </span>
            )}
            <CopyButton text={answer.text} label="Copy answer" />
            <IconButton
              icon="retry"
              label="Another answer"
              disabled={isBusy}
              onClick={() => retry(conversation, turn)}
            />
            <IconButton
              icon="repeat"
              label="Same answer again"
              disabled={isBusy}
              onClick={() => repeat(conversation, turn)}
            />
            {answer.repeats && <RepeatMark repeats={answer.repeats} />}
          </div>
          <div class="figures">
            <Figures answer={answer} />
          </div>
        </footer>
      )}
    </article>
  );
}

// How far the prompt is.
const Reading = ({ done, total }: { done: number; total: number }): JSX.Element => (
  <small role="progressbar" aria-label="Prompt" aria-valuemin={0} aria-valuemax={total} aria-valuenow={done}>
    prefill {count(done)} of {count(total)}
  </small>
);

// Seconds count where it takes long.
function Waited({ sinceMs }: { sinceMs: number }): JSX.Element | null {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds(Math.floor((Date.now() - sinceMs) / 1000)), 500);
    return () => clearInterval(timer);
  }, [sinceMs]);
  return seconds < 2 ? null : <small>{seconds} s</small>;
}

export const ToolMessage = ({ turn }: { turn: Extract<Turn, { role: 'tool' }> }): JSX.Element => (
  <article class="turn tool" aria-label={`Result of ${turn.name}`}>
    <div class="call-name">
      <strong>{turn.name}</strong> gave
    </div>
    <Code language="json" text={turn.text} />
  </article>
);
