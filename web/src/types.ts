// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What a conversation is, as the browser keeps it.

export type Reasoning = 'default' | 'on' | 'off';

// What a request asks for beside its messages; a field that is missing is the server's default.
export interface Settings {
  model: string;
  system: string;
  reasoning: Reasoning;
  temperature?: number;
  top_p?: number;
  top_k?: number;
  min_p?: number;
  repetition_penalty?: number;
  max_tokens?: number;
  seed?: number;
  tools: string; // JSON, as it was typed
  tool_choice?: 'required' | 'none'; // missing: the model decides
}

export interface ToolCall {
  id: string;
  name: string;
  arguments: string;
}

export interface Usage {
  prompt: number;
  cached: number;
  answer: number;
  drafted: number;
  accepted: number;
}

// Of an answer that was asked for again: whether it came out as the first one did.
export interface Repeat {
  of: number; // its place among the answers of the turn
  same?: boolean; // missing until both are compared
  differsAt?: number; // the first character that is another one
}

// Of an ensemble's answer: who wrote it, and what else could have been taken.
export interface Candidate {
  taken: boolean;
  authors: string[];
  text: string;
  bits_per_byte?: number | null;
  member_bits_per_byte?: Record<string, number | null>;
}
export interface Span {
  decision: string;
  candidates: Candidate[];
}
export interface Ensemble {
  policy: string;
  policy_reason?: string; // where another was asked for
  author: string;
  candidates: Candidate[];
  spans?: Span[];
  members: { name: string; absence?: string }[];
}

export interface Answer {
  text: string;
  reasoning: string;
  calls: ToolCall[];
  settings: Settings; // as it was asked for, with the seed
  model: string;
  startedMs: number;
  reading?: { done: number; total: number }; // tokens of the prompt, until the first of the answer
  firstMs?: number; // after the start: the first token
  reasonedMs?: number; // and the first behind the reasoning
  tookMs?: number;
  finish?: string; // the server's word, or 'stopped', 'failed'; missing: not at its end
  error?: string;
  usage?: Usage;
  ensemble?: Ensemble;
  repeats?: Repeat;
}

export interface UserTurn {
  role: 'user';
  id: string;
  text: string;
}
export interface AssistantTurn {
  role: 'assistant';
  id: string;
  answers: Answer[];
  chosen: number;
}
export interface ToolTurn {
  role: 'tool';
  id: string;
  callId: string;
  name: string;
  text: string;
}
export type Turn = UserTurn | AssistantTurn | ToolTurn;

export interface Conversation {
  id: string;
  title: string;
  changedMs: number;
  turns: Turn[];
  settings: Settings;
}

export const newId = (): string => {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
};
// Of 32 bits, so that every client can hold it.
export const newSeed = (): number => crypto.getRandomValues(new Uint32Array(1))[0]!;

export const chosenAnswer = (turn: AssistantTurn): Answer => turn.answers[turn.chosen]!;
