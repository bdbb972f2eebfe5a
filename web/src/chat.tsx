// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One conversation: its turns, and the place where the next one is written.
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Model } from './api';
import { IconButton, Logo } from './controls';
import { count } from './format';
import { runningIn, send, stop } from './generate';
import { AssistantMessage, ToolMessage, UserMessage } from './message';
import { conversation as stored, save } from './store';
import { SettingsPanel, keepSettings, lastSettings } from './settings';
import { type Answer, type Conversation, type Settings, type Turn, chosenAnswer, newId } from './types';

const nearEndPx = 80;

// Stays at the end while it grows, unless the reader went up.
function useStickToEnd(key: string): {
  scroller: { current: HTMLDivElement | null };
  isAtEnd: boolean;
  toEnd: () => void;
} {
  const scroller = useRef<HTMLDivElement>(null);
  const sticks = useRef(true);
  const [isAtEnd, setAtEnd] = useState(true);
  const toEnd = (): void => {
    sticks.current = true;
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  };
  useEffect(() => {
    const element = scroller.current!;
    const onScroll = (): void => {
      const distance = element.scrollHeight - element.scrollTop - element.clientHeight;
      sticks.current = distance < nearEndPx;
      setAtEnd(sticks.current);
    };
    element.addEventListener('scroll', onScroll, { passive: true });
    return () => element.removeEventListener('scroll', onScroll);
  }, []);
  useLayoutEffect(toEnd, [key]);
  useLayoutEffect(() => {
    if (sticks.current) scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  });
  return { scroller, isAtEnd, toEnd };
}

interface ComposerProps {
  running: Answer | undefined;
  onSend: (text: string) => void;
  onStop: () => void;
  onEditLast: () => void;
}
function Composer({ running, onSend, onStop, onEditLast }: ComposerProps): JSX.Element {
  const [text, setText] = useState('');
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus({ preventScroll: true }), []);
  useLayoutEffect(() => {
    const element = area.current!;
    element.style.height = 'auto';
    element.style.height = `${Math.min(element.scrollHeight, 240)}px`;
  }, [text]);
  const submit = (): void => {
    if (!text.trim() || running) return;
    onSend(text);
    setText('');
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      submit();
    } else if (event.key === 'ArrowUp' && text === '' && !running) {
      event.preventDefault();
      onEditLast();
    }
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        ref={area}
        rows={1}
        aria-label="Message"
        placeholder="Write a message"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {running ? (
        <IconButton class="send" icon="stop" label="Stop (Escape)" onClick={onStop} />
      ) : (
        <IconButton class="send" icon="send" label="Send (Enter)" disabled={!text.trim()} onClick={submit} />
      )}
    </form>
  );
}

const examples = [
  'Tell me a story about a lighthouse.',
  'What is 12 * 7?',
  'Write a haiku about two machines that think together.',
];

const Empty = ({ model, onSend }: { model: string; onSend: (text: string) => void }): JSX.Element => (
  <div class="empty">
    <Logo />
    <h1>What shall {model || 'the model'} answer?</h1>
    <ul>
      {examples.map((example) => (
        <li key={example}>
          <button type="button" onClick={() => onSend(example)}>
            {example}
          </button>
        </li>
      ))}
    </ul>
  </div>
);

// How much of the context the conversation fills.
function Context({
  conversation,
  models,
}: {
  conversation: Conversation;
  models: Model[];
}): JSX.Element | null {
  const last = conversation.turns.findLast((turn) => turn.role === 'assistant');
  const usage = last && chosenAnswer(last).usage;
  const model = models.find(({ id }) => id === conversation.settings.model) ?? models[0];
  if (!usage || !model) return null;
  const used = usage.prompt + usage.answer;
  const part = used / model.context_length;
  return (
    <span class={part > 0.9 ? 'bad' : ''} title="Tokens of this conversation, and of the model's context">
      {count(used)} of {count(model.context_length)} tokens
    </span>
  );
}

// For a screen reader, which has the answer read out once it is whole; not those of earlier days.
function Told({ id, running, turns }: { id: string; running: Answer | undefined; turns: Turn[] }): JSX.Element {
  const answeredIn = useRef('');
  if (running) answeredIn.current = id;
  const last = turns.at(-1);
  let told = '';
  if (running) {
    told = 'The model is answering';
  } else if (answeredIn.current === id && last?.role === 'assistant') {
    // An error is an alert of its own.
    const { model, text, calls, finish, error } = chosenAnswer(last);
    const names = calls.map(({ name }) => name).join(', ');
    const parts = [finish === 'stopped' && 'Stopped.', model && `${model}:`, text, names && `calls ${names}`];
    if (!error) told = parts.filter(Boolean).join(' ');
  }
  return (
    <p class="hidden" role="status">
      {told}
    </p>
  );
}

const emptyConversation = (): Conversation => ({
  id: newId(),
  title: '',
  changedMs: Date.now(),
  turns: [],
  settings: lastSettings(),
});

interface Props {
  id: string; // empty: a new one
  models: Model[];
  onOpen: (id: string) => void;
}

export function Chat({ id, models, onOpen }: Props): JSX.Element {
  // A new conversation is another one each time that it is come to.
  const fresh = useRef({ at: id, conversation: emptyConversation() });
  const isOther = fresh.current.at !== id;
  if (isOther && id === '') fresh.current.conversation = emptyConversation();
  fresh.current.at = id;
  const conversation = stored(id) ?? fresh.current.conversation;
  const running = runningIn(conversation.id);
  const [edited, setEdited] = useState<string>();
  const [hasSettings, setHasSettings] = useState(false);
  const [, render] = useState(0);
  const { scroller, isAtEnd, toEnd } = useStickToEnd(conversation.id);

  useEffect(() => {
    document.title = conversation.title ? `${conversation.title} · Asterism` : 'Asterism';
  }, [conversation.title]);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key === 'Escape' && !event.defaultPrevented) stop(conversation.id);
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, [conversation.id]);

  const onSend = (text: string): void => {
    send(conversation, text);
    toEnd();
    if (id !== conversation.id) onOpen(conversation.id);
  };
  const onSettings = (settings: Settings): void => {
    conversation.settings = settings;
    keepSettings(settings);
    if (conversation.turns.length > 0) save(conversation);
    render((times) => times + 1);
  };
  const { turns, settings } = conversation;
  const model = settings.model || models[0]?.id || '';
  return (
    <main class="chat">
      <header class="bar">
        <h1>{conversation.title || 'New conversation'}</h1>
        <select
          class="model"
          aria-label="Model"
          value={model}
          onChange={(event) => onSettings({ ...settings, model: event.currentTarget.value })}
        >
          {models.map(({ id: name }) => (
            <option key={name}>{name}</option>
          ))}
          {!models.some(({ id: name }) => name === model) && <option>{model}</option>}
        </select>
        <IconButton
          icon="sliders"
          label="Settings"
          expanded={hasSettings}
          onClick={() => setHasSettings(!hasSettings)}
        />
      </header>
      <div class="chat-body">
        <div class="column">
          <div class="turns" ref={scroller} tabIndex={-1}>
            {turns.length === 0 && <Empty model={model} onSend={onSend} />}
            <div class="turns-inside">
              {turns.map((turn, index) => {
                const isLast = index === turns.length - 1;
                if (turn.role === 'tool') return <ToolMessage key={turn.id} turn={turn} />;
                if (turn.role === 'assistant') {
                  return (
                    <AssistantMessage
                      key={turn.id}
                      conversation={conversation}
                      turn={turn}
                      running={running}
                      isLast={isLast}
                    />
                  );
                }
                return (
                  <UserMessage
                    key={turn.id}
                    conversation={conversation}
                    turn={turn}
                    isBusy={running !== undefined}
                    isEdited={edited === turn.id}
                    onEdit={setEdited}
                  />
                );
              })}
            </div>
          </div>
          <div class="foot">
            {!isAtEnd && <IconButton class="to-end" icon="down" label="To the newest" onClick={toEnd} />}
            <Composer
              key={conversation.id}
              running={running}
              onSend={onSend}
              onStop={() => stop(conversation.id)}
              onEditLast={() => setEdited(turns.findLast((turn) => turn.role === 'user')?.id)}
            />
            <p class="under">
              <span>Enter sends, Shift+Enter is a new line</span>
              <Context conversation={conversation} models={models} />
            </p>
          </div>
        </div>
        {hasSettings && (
          <SettingsPanel
            key={conversation.id}
            settings={settings}
            onChange={onSettings}
            onClose={() => setHasSettings(false)}
          />
        )}
      </div>
      <Told id={conversation.id} running={running} turns={turns} />
    </main>
  );
}
