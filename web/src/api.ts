// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Requests to the server that the page came from: the API key, errors, and streams of events.

// Chats take an API key; changes of the cluster, and sessions of a shared server, an administrator's.
export type Role = 'user' | 'admin';
const keyNames: Record<Role, string> = { user: 'asterism-key', admin: 'asterism-admin-key' };
let askForKey: (role: Role, wasWrong: boolean) => void = () => {};
const waiting: Record<Role, ((isGiven: boolean) => void)[]> = { user: [], admin: [] };

// The keys live as long as the tab.
export const onKeyWanted = (ask: typeof askForKey): void => {
  askForKey = ask;
};
// Without a key, the requests that wait for it fail.
export function useKey(role: Role, key: string | undefined): void {
  if (key !== undefined) sessionStorage.setItem(keyNames[role], key);
  const resumed = waiting[role];
  waiting[role] = [];
  for (const resume of resumed) resume(key !== undefined);
}

export class ServerError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

async function messageOf(response: Response): Promise<string> {
  const text = await response.text();
  try {
    return JSON.parse(text).error.message;
  } catch {
    return text.slice(0, 300) || `the server answered ${response.status}`;
  }
}

// Waits for a key where the server wants one.
export async function request(path: string, init: RequestInit = {}, role: Role = 'user'): Promise<Response> {
  const name = keyNames[role];
  for (;;) {
    const key = sessionStorage.getItem(name);
    const headers = new Headers(init.headers);
    // Without an administrator's key the user's says who asks, and the answer which other one is wanted.
    const shown = key ?? sessionStorage.getItem(keyNames.user);
    if (shown) headers.set('Authorization', `Bearer ${shown}`);
    let response: Response;
    try {
      response = await fetch(path, { ...init, headers });
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new ServerError('the server cannot be reached', 0);
    }
    if (response.ok) return response;
    const message = await messageOf(response);
    if (response.status !== 401) throw new ServerError(message, response.status);
    // Another request may have been given a key since.
    if (sessionStorage.getItem(name) !== key) continue;
    askForKey(role, key !== null);
    const isGiven = await new Promise<boolean>((resolve) => waiting[role].push(resolve));
    if (!isGiven) throw new ServerError('no key was given', 401);
    init.signal?.throwIfAborted();
  }
}

export async function getJson<T>(path: string, signal?: AbortSignal, role: Role = 'user'): Promise<T> {
  const response = await request(path, signal ? { signal } : {}, role);
  return (await response.json()) as T;
}

// A change of the cluster: "invite", "drain", "revoke".
export async function change<T>(what: string, body: object): Promise<T> {
  const init = {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  };
  return (await (await request(`/v1/cluster/${what}`, init, 'admin')).json()) as T;
}

// The data of each event. A stream that ends without its last word was cut.
export async function* events(path: string, body: unknown, signal: AbortSignal): AsyncGenerator<string> {
  const response = await request(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    rest += value;
    const blocks = rest.split('\n\n');
    rest = blocks.pop()!;
    for (const block of blocks) {
      const lines = block.split('\n').filter((line) => line.startsWith('data:'));
      const data = lines.map((line) => line.slice(5).trimStart()).join('\n');
      if (data === '[DONE]') return;
      if (data) yield data;
    }
  }
  throw new ServerError('the connection to the server was cut', 0);
}

export interface Model {
  id: string;
  context_length: number;
}
export async function models(): Promise<Model[]> {
  return (await getJson<{ data: Model[] }>('/v1/models')).data;
}
