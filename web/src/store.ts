// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The conversations of this browser, in memory and in IndexedDB. Where the browser keeps nothing
// (a private window of some), they last as long as the page.
import { useEffect, useState } from 'preact/hooks';
import type { Conversation } from './types';

const databaseName = 'asterism';
const storeName = 'conversations';

let database: IDBDatabase | undefined;
let all = new Map<string, Conversation>();
const listeners = new Set<() => void>();

function open(): Promise<IDBDatabase | undefined> {
  return new Promise((resolve) => {
    let opening: IDBOpenDBRequest;
    try {
      opening = indexedDB.open(databaseName, 1);
    } catch {
      return resolve(undefined);
    }
    opening.onupgradeneeded = () => opening.result.createObjectStore(storeName, { keyPath: 'id' });
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => resolve(undefined);
  });
}

// Other windows of this page.
const others = 'BroadcastChannel' in window ? new BroadcastChannel(databaseName) : undefined;

function readAll(): Promise<Conversation[]> {
  return new Promise((resolve) => {
    if (!database) return resolve([...all.values()]);
    const reading = database.transaction(storeName).objectStore(storeName).getAll();
    reading.onsuccess = () => resolve(reading.result);
    reading.onerror = () => resolve([]);
  });
}

export function changed(): void {
  for (const listener of listeners) listener();
}

export async function load(): Promise<void> {
  database = await open();
  all = new Map((await readAll()).map((one) => [one.id, one]));
  if (others) {
    others.onmessage = async ({ data }: MessageEvent<string>) => {
      const newest = (await readAll()).find((one) => one.id === data);
      if (newest) all.set(data, newest);
      else all.delete(data);
      changed();
    };
  }
  changed();
}

// The newest first.
export const conversations = (): Conversation[] =>
  [...all.values()].sort((a, b) => b.changedMs - a.changedMs);
export const conversation = (id: string): Conversation | undefined => all.get(id);

function write(change: (store: IDBObjectStore) => void, id: string): void {
  if (!database) return;
  const transaction = database.transaction(storeName, 'readwrite');
  change(transaction.objectStore(storeName));
  transaction.oncomplete = () => others?.postMessage(id);
  transaction.commit();  // at once, as the page may be closed
}

export function save(one: Conversation): void {
  all.set(one.id, one);
  write((store) => store.put(one), one.id);
  changed();
}
export function remove(id: string): void {
  all.delete(id);
  write((store) => store.delete(id), id);
  changed();
}

// Renders the caller anew after each change; changes of one frame are shown together.
export function useStore(): void {
  const [, render] = useState(0);
  useEffect(() => {
    let frame = 0;
    const listener = (): void => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        render((count) => count + 1);
      });
    };
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      cancelAnimationFrame(frame);
    };
  }, []);
}
