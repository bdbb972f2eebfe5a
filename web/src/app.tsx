// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The page: conversations at the side, and what was chosen there. The address says which
// (#/chat/ID, #/cluster, #/sessions).
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Model, type Role, models as readModels, onKeyWanted, useKey } from './api';
import { Chat } from './chat';
import { Cluster } from './cluster';
import { Icon, IconButton, Logo } from './controls';
import { day } from './format';
import { runningIn, stop } from './generate';
import { Sessions } from './sessions';
import { conversations, remove, useStore } from './store';

type Place = { view: 'chat'; id: string } | { view: 'cluster' | 'sessions' };

function placeOf(hash: string): Place {
  if (hash === '#/cluster') return { view: 'cluster' };
  if (hash === '#/sessions') return { view: 'sessions' };
  return { view: 'chat', id: /^#\/chat\/([\da-f]+)$/.exec(hash)?.[1] ?? '' };
}

function usePlace(): Place {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const onChange = (): void => setHash(location.hash);
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  return placeOf(hash);
}

const toChat = (id: string): void => {
  location.hash = id ? `#/chat/${id}` : '#/';
};

const keyTexts: Record<Role, { title: string; label: string }> = {
  user: { title: 'This server asks for an API key', label: 'API key' },
  admin: { title: "This needs an administrator's key", label: "Administrator's key" },
};

interface KeyDialogProps {
  role: Role;
  wasWrong: boolean;
  onDone: () => void;
}
function KeyDialog({ role, wasWrong, onDone }: KeyDialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [key, setKey] = useState('');
  useEffect(() => dialog.current?.showModal(), []);
  const give = (given: string | undefined): void => {
    onDone();
    useKey(role, given);
  };
  const { title, label } = keyTexts[role];
  return (
    <dialog
      ref={dialog}
      aria-labelledby="key-title"
      onCancel={(event) => {
        event.preventDefault();
        // Without an API key there is no page to go back to.
        if (role === 'admin') give(undefined);
      }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (key.trim()) give(key.trim());
        }}
      >
        <h2 id="key-title">{title}</h2>
        {wasWrong && (
          <p class="bad" role="alert">
            The server does not know that key.
          </p>
        )}
        <label class="field wide">
          <span>{label}</span>
          <input
            type="password"
            autoComplete="off"
            value={key}
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        </label>
        <p class="faint">It is kept in this tab until it is closed.</p>
        <div class="row end">
          {role === 'admin' && (
            <button type="button" class="quiet" onClick={() => give(undefined)}>
              Cancel
            </button>
          )}
          <button class="primary" disabled={!key.trim()}>
            Use this key
          </button>
        </div>
      </form>
    </dialog>
  );
}

function ConversationList({ current }: { current: string }): JSX.Element {
  const all = conversations();
  const [asked, setAsked] = useState('');
  let heading = '';
  return (
    <ul class="conversations">
      {all.map(({ id, title, changedMs }) => {
        const group = day(changedMs);
        const isNew = group !== heading;
        heading = group;
        return (
          <li key={id}>
            {isNew && <h2>{group}</h2>}
            <div class={`conversation ${id === current ? 'current' : ''}`}>
              <a href={`#/chat/${id}`} aria-current={id === current ? 'page' : undefined}>
                {runningIn(id) && <span class="pulse dot alive" role="img" aria-label="answering" />}
                {title || 'Untitled'}
              </a>
              {asked === id ? (
                <button
                  type="button"
                  class="danger"
                  onBlur={() => setAsked('')}
                  ref={(button) => button?.focus()}
                  onClick={() => {
                    stop(id);
                    remove(id);
                    if (id === current) toChat('');
                  }}
                >
                  Delete
                </button>
              ) : (
                <IconButton icon="trash" label={`Delete ${title}`} onClick={() => setAsked(id)} />
              )}
            </div>
          </li>
        );
      })}
    </ul>
  );
}

export function App(): JSX.Element {
  useStore();
  const place = usePlace();
  const [models, setModels] = useState<Model[]>([]);
  const [problem, setProblem] = useState('');
  const [wanted, setWanted] = useState<{ role: Role; wasWrong: boolean; at: number }>();
  const [isOpen, setOpen] = useState(false); // the side, where there is no room for it
  const current = place.view === 'chat' ? place.id : '';

  useEffect(() => {
    onKeyWanted((role, wasWrong) => setWanted({ role, wasWrong, at: Date.now() }));
    readModels()
      .then(setModels)
      .catch((error: Error) => setProblem(error.message));
  }, []);
  useEffect(() => setOpen(false), [current, place.view]);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() === 'o' && event.shiftKey && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        toChat('');
      }
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);

  return (
    <div
      class={`app ${isOpen ? 'side-open' : ''}`}
      onKeyDown={(event) => {
        if (!isOpen || event.key !== 'Escape') return;
        event.preventDefault(); // an answer goes on
        setOpen(false);
        event.currentTarget.querySelector<HTMLElement>('.side-button')?.focus();
      }}
    >
      <IconButton
        class="side-button"
        icon={isOpen ? 'close' : 'menu'}
        label={isOpen ? 'Close the menu' : 'Menu'}
        expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      />
      <div class="shade" onClick={() => setOpen(false)} />
      <nav class="side" aria-label="Conversations">
        <a class="brand" href="#/">
          <Logo />
          Asterism
        </a>
        <a
          class="nav"
          href="#/"
          aria-current={place.view === 'chat' && !current ? 'page' : undefined}
          title="Ctrl+Shift+O"
        >
          <Icon name="plus" />
          New conversation
        </a>
        <a class="nav" href="#/cluster" aria-current={place.view === 'cluster' ? 'page' : undefined}>
          <Icon name="cluster" />
          Cluster
        </a>
        <a class="nav" href="#/sessions" aria-current={place.view === 'sessions' ? 'page' : undefined}>
          <Icon name="saved" />
          Sessions
        </a>
        <ConversationList current={current} />
      </nav>
      {problem && (
        <p class="problem top" role="alert">
          {problem}
        </p>
      )}
      {place.view === 'cluster' && <Cluster />}
      {place.view === 'sessions' && <Sessions onOpen={toChat} />}
      {place.view === 'chat' && <Chat id={current} models={models} onOpen={toChat} />}
      {wanted && <KeyDialog key={wanted.at} {...wanted} onDone={() => setWanted(undefined)} />}
    </div>
  );
}
