// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The sessions that are saved on the server's machine, and what its models' caches on the disk hold.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Problem, useAction } from './action';
import { getJson, request } from './api';
import type { ClusterState, DiskCacheStatus, Status } from './figures';
import { bytes, count, plural, since } from './format';
import { DiskCache, Figure } from './parts';
import { lastSettings } from './settings';
import { save } from './store';
import { type Conversation, type Turn, newId } from './types';

interface SavedSession {
  name: string;
  error?: string; // it cannot be read, and has none of the rest
  model: string;
  served_as: string | null; // the name of the model here that has its fingerprint
  tokens: number;
  kv_tokens: number;
  turns: number;
  own_bytes: number;
  shared_bytes: number;
  saved_unix_s: number;
  damage?: string;
}
interface WholeSession extends SavedSession {
  system: string;
  messages: { role: string; content: string }[];
}

const pathOf = (name: string): string => `/v1/sessions/${encodeURIComponent(name)}`;

// A conversation of this browser that begins as the session does.
function conversationOf(session: WholeSession): Conversation {
  const model = session.served_as ?? '';
  const settings = { ...lastSettings(), model, system: session.system };
  const changedMs = Date.now();
  const turns = session.messages.map(({ role, content: text }): Turn => {
    if (role !== 'assistant') return { role: 'user', id: newId(), text };
    const told = { text, reasoning: '', calls: [], settings, model: session.model };
    return {
      role,
      id: newId(),
      answers: [{ ...told, startedMs: session.saved_unix_s * 1000, finish: 'stop' }],
      chosen: 0,
    };
  });
  return { id: newId(), title: session.name, changedMs, turns, settings };
}

interface DeleteProps {
  name: string;
  onDone: (isSure: boolean) => void;
}
function DeleteDialog({ name, onDone }: DeleteProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="delete-title" onClose={() => onDone(false)}>
      <form method="dialog">
        <h2 id="delete-title">Delete {name}?</h2>
        <p>The session is removed from the server's disk. This is final.</p>
        <div class="row end">
          <button class="quiet" autofocus>
            Cancel
          </button>
          <button type="button" class="primary bad" onClick={() => onDone(true)}>
            Delete {name}
          </button>
        </div>
      </form>
    </dialog>
  );
}

const Figures = ({ session }: { session: SavedSession }): JSX.Element => (
  <dl class="figures-row">
    <Figure label="Length" note={plural(session.turns, 'turn')}>
      {plural(session.tokens, 'token')}
    </Figure>
    <Figure
      label="Size"
      note={session.shared_bytes > 0 ? `and ${bytes(session.shared_bytes)} shared with others` : undefined}
    >
      {bytes(session.own_bytes)}
    </Figure>
    <Figure label="Saved" note={new Date(session.saved_unix_s * 1000).toLocaleString()}>
      {since(Date.now() - session.saved_unix_s * 1000)} ago
    </Figure>
  </dl>
);

interface CardProps {
  session: SavedSession;
  onOpen: (id: string) => void;
  onDeleted: () => void;
}
function SessionCard({ session, onOpen, onDeleted }: CardProps): JSX.Element {
  const [isAsked, setAsked] = useState(false);
  const { isBusy, problem, act } = useAction();
  const { name, error, damage } = session;
  const open = async (): Promise<void> => {
    const whole = await getJson<WholeSession>(pathOf(name), undefined, 'admin');
    if (whole.messages.length === 0 && !whole.system)
      throw new Error('it is a text without turns: go on with aster run --session on the server');
    // With its KV rows the text is not computed again; without them it is.
    if (whole.served_as !== null) await request(`${pathOf(name)}/load`, { method: 'POST' }, 'admin').catch(() => {});
    const conversation = conversationOf(whole);
    save(conversation);
    onOpen(conversation.id);
  };
  const remove = async (): Promise<void> => {
    await request(pathOf(name), { method: 'DELETE' }, 'admin');
    onDeleted();
  };
  return (
    <section class="card node" aria-label={`Session ${name}`}>
      <h3>
        {name}
        {!error && <small>{session.model}</small>}
      </h3>
      {!error && <Figures session={session} />}
      <Problem text={error ?? damage ?? ''} />
      {!error && session.kv_tokens < session.tokens && (
        <p class="faint">KV rows of {count(session.kv_tokens)} tokens</p>
      )}
      <Problem text={problem} />
      <div class="row">
        {!error && (
          <button
            type="button"
            class="quiet"
            disabled={isBusy}
            title="Open it as a conversation of this browser; the session stays as it is"
            onClick={() => act(open)}
          >
            Continue
            <span class="hidden"> {name}</span>
          </button>
        )}
        <button type="button" class="quiet" disabled={isBusy} onClick={() => setAsked(true)}>
          Delete…
          <span class="hidden"> {name}</span>
        </button>
      </div>
      {isAsked && (
        <DeleteDialog
          name={name}
          onDone={(isSure) => {
            setAsked(false);
            if (isSure) act(remove);
          }}
        />
      )}
    </section>
  );
}

const NoSessions = (): JSX.Element => (
  <p class="faint">
    None yet. <code>/save NAME</code> in <code>aster run</code>, or{' '}
    <code>aster session save NAME MODEL --prompt-file FILE</code>, keeps a conversation with its KV rows on the
    server's machine.
  </p>
);

// Of the server's models, and of the cluster's nodes.
function DiskCaches(): JSX.Element {
  const [status, setStatus] = useState<Status>();
  const [cluster, setCluster] = useState<ClusterState>();
  useEffect(() => {
    getJson<Status>('/v1/status').then(setStatus, () => {});
    getJson<ClusterState>('/v1/cluster').then(setCluster, () => {});
  }, []);
  const cached: [string, DiskCacheStatus][] = [
    ...(status?.models ?? []).map(({ id, disk_cache: disk }) => [id, disk] as const),
    ...(cluster?.nodes ?? []).map(({ name, disk_cache: disk }) => [name, disk] as const),
  ].flatMap(([name, disk]) => (disk ? [[name, disk]] : []));
  return (
    <>
      <h2>Disk cache</h2>
      {status && cluster && cached.length === 0 && (
        <p class="faint">
          Neither a model here nor a machine of the cluster reports one. <code>--kv-cache FOLDER</code>, of{' '}
          <code>aster serve</code> and <code>aster node</code>, keeps KV rows of prompts on the disk.
        </p>
      )}
      {cached.map(([name, disk]) => (
        <section key={name} class="card" aria-label={`Disk cache of ${name}`}>
          <h3>{name}</h3>
          <DiskCache disk={disk} />
        </section>
      ))}
    </>
  );
}

export function Sessions({ onOpen }: { onOpen: (id: string) => void }): JSX.Element {
  const [sessions, setSessions] = useState<SavedSession[]>();
  const [problem, setProblem] = useState('');
  const read = (): void => {
    getJson<{ data: SavedSession[] }>('/v1/sessions', undefined, 'admin').then(
      ({ data }) => setSessions(data.sort((a, b) => (b.saved_unix_s ?? 0) - (a.saved_unix_s ?? 0))),
      (error: Error) => setProblem(error.message),
    );
  };
  useEffect(() => {
    document.title = 'Sessions · Asterism';
    read();
  }, []);
  return (
    <main class="cluster">
      <header class="bar">
        <h1>Sessions</h1>
        {sessions && <span class="faint">{plural(sessions.length, 'session')}</span>}
      </header>
      <div class="cluster-body">
        <div class="cluster-inside">
          <Problem text={problem} />
          {sessions?.length === 0 && <NoSessions />}
          <div class="cards">
            {sessions?.map((session) => (
              <SessionCard key={session.name} session={session} onOpen={onOpen} onDeleted={read} />
            ))}
          </div>
          <DiskCaches />
        </div>
      </div>
    </main>
  );
}
