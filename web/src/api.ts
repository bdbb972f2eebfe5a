// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Requests to the server that the page came from: the API key, errors, and streams of events.

const keyName = 'asterism-key';
let askForKey: (wasWrong: boolean) => void = () => {};
let waiting: (() => void)[] = [];

// The key lives as long as the tab.
export const onKeyWanted = (ask: (wasWrong: boolean) => void): void => {
  askForKey = ask;
};
export function useKey(key: string): void {
  sessionStorage.setItem(keyName, key);
  const resumed = waiting;
  waiting = [];
  for (const resume of resumed) resume();
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
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  for (;;) {
    const key = sessionStorage.getItem(keyName);
    const headers = new Headers(init.headers);
    if (key) headers.set('Authorization', `Bearer ${key}`);
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
    if (sessionStorage.getItem(keyName) !== key) continue;
    askForKey(key !== null);
    await new Promise<void>((resolve) => waiting.push(resolve));
    init.signal?.throwIfAborted();
  }
}

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await request(path, signal ? { signal } : {});
  return (await response.json()) as T;
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
