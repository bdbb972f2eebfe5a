// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Answers that are being written: the request of a turn, its stream, and its end. They go on while
// another conversation is looked at.
import { events, ServerError } from './api';
import { changed, conversation as stored, save } from './store';
import {
  type Answer,
  type AssistantTurn,
  type Conversation,
  type Ensemble,
  type Settings,
  type Turn,
  chosenAnswer,
  newId,
  newSeed,
} from './types';

interface Running {
  abort: AbortController;
  answer: Answer;
}
const running = new Map<string, Running>(); // by conversation
const saveEveryMs = 1000;

// One that was deleted meanwhile stays so.
function keep(conversation: Conversation): void {
  if (stored(conversation.id)) save(conversation);
}

export const runningIn = (id: string): Answer | undefined => running.get(id)?.answer;
export const stop = (id: string): void => running.get(id)?.abort.abort();

// The tools of the settings; throws where they are not a list of JSON.
export function toolsOf(settings: Settings): unknown[] {
  if (!settings.tools.trim()) return [];
  const tools: unknown = JSON.parse(settings.tools);
  if (!Array.isArray(tools)) throw new Error('give a list: [ … ]');
  // A bare function is taken for a tool.
  return tools.map((tool) => ('type' in tool ? tool : { type: 'function', function: tool }));
}

function messageOf(turn: Turn, index: number, turns: Turn[]): object {
  if (turn.role === 'user') return { role: 'user', content: turn.text };
  if (turn.role === 'tool') return { role: 'tool', tool_call_id: turn.callId, content: turn.text };
  const answer = chosenAnswer(turn);
  // Calls that were passed over are none: each has to have its result.
  const isAnswered = turns[index + 1]?.role === 'tool';
  const calls = (isAnswered ? answer.calls : []).map(({ id, name, arguments: text }) => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  }));
  return {
    role: 'assistant',
    content: answer.text,
    ...(answer.reasoning && { reasoning_content: answer.reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

export function requestOf(settings: Settings, turns: Turn[]): object {
  const { system, reasoning, tools: _, tool_choice: choice, model, ...sampling } = settings;
  const tools = toolsOf(settings);
  return {
    ...(model && { model }),
    messages: [...(system.trim() ? [{ role: 'system', content: system }] : []), ...turns.map(messageOf)],
    ...sampling,
    ...(reasoning !== 'default' && { enable_thinking: reasoning === 'on' }),
    ...(tools.length > 0 && { tools, ...(choice && { tool_choice: choice }) }),
    stream: true,
    return_progress: true,
    stream_options: { include_usage: true },
  };
}

interface Chunk {
  model?: string;
  error?: { message: string };
  prompt_progress?: { total: number; processed: number };
  usage?: {
    prompt_tokens: number;
    completion_tokens: number;
    prompt_tokens_details?: { cached_tokens?: number };
    completion_tokens_details?: {
      accepted_prediction_tokens?: number;
      rejected_prediction_tokens?: number;
    };
  } | null;
  choices?: {
    delta: {
      content?: string | null;
      reasoning_content?: string;
      tool_calls?: {
        index: number;
        id?: string;
        function?: { name?: string; arguments?: string };
      }[];
    };
    finish_reason?: string | null;
    ensemble?: Ensemble;
  }[];
}

function takeUsage(answer: Answer, usage: NonNullable<Chunk['usage']>): void {
  const accepted = usage.completion_tokens_details?.accepted_prediction_tokens ?? 0;
  const rejected = usage.completion_tokens_details?.rejected_prediction_tokens ?? 0;
  answer.usage = {
    prompt: usage.prompt_tokens,
    cached: usage.prompt_tokens_details?.cached_tokens ?? 0,
    answer: usage.completion_tokens,
    drafted: accepted + rejected,
    accepted,
  };
}

function take(answer: Answer, chunk: Chunk): void {
  if (chunk.error) throw new ServerError(chunk.error.message, 0);
  if (chunk.model) answer.model = chunk.model;
  if (chunk.usage) takeUsage(answer, chunk.usage);
  const { prompt_progress: progress } = chunk;
  if (progress) answer.reading = { done: progress.processed, total: progress.total };
  const choice = chunk.choices?.[0];
  if (!choice) return;
  const { content, reasoning_content: reasoning, tool_calls: calls } = choice.delta;
  const nowMs = Date.now() - answer.startedMs;
  if (content || reasoning || calls) {
    answer.firstMs ??= nowMs;
    delete answer.reading;
  }
  if (reasoning) answer.reasoning += reasoning;
  if ((content || calls) && answer.reasoning) answer.reasonedMs ??= nowMs;
  if (content) answer.text += content;
  for (const { index, id, function: called } of calls ?? []) {
    const call = (answer.calls[index] ??= { id: id ?? '', name: '', arguments: '' });
    call.name += called?.name ?? '';
    call.arguments += called?.arguments ?? '';
  }
  if (choice.ensemble) answer.ensemble = choice.ensemble;
  if (choice.finish_reason) answer.finish = choice.finish_reason;
}

// The first character in which they differ; nothing where one is how the other begins, as far as
// an answer that was stopped goes.
function compare(first: Answer, again: Answer): { same: boolean; differsAt?: number } {
  const whole = (answer: Answer): string =>
    answer.reasoning + answer.text + answer.calls.map((call) => call.name + call.arguments).join('');
  const a = whole(first);
  const b = whole(again);
  const isCut = first.finish === 'stopped' || again.finish === 'stopped';
  const length = isCut ? Math.min(a.length, b.length) : Math.max(a.length, b.length);
  for (let i = 0; i < length; ++i) {
    if (a[i] !== b[i]) return { same: false, differsAt: i };
  }
  return { same: true };
}

async function run(conversation: Conversation, turn: AssistantTurn, answer: Answer): Promise<void> {
  const abort = new AbortController();
  running.set(conversation.id, { abort, answer });
  let savedMs = Date.now();
  try {
    const before = conversation.turns.slice(0, conversation.turns.indexOf(turn));
    const body = requestOf(answer.settings, before);
    for await (const data of events('/v1/chat/completions', body, abort.signal)) {
      take(answer, JSON.parse(data));
      changed();
      if (Date.now() - savedMs > saveEveryMs) {
        savedMs = Date.now();
        keep(conversation);
      }
    }
    answer.finish ??= 'stop';
  } catch (error) {
    answer.finish = abort.signal.aborted ? 'stopped' : 'failed';
    if (!abort.signal.aborted) answer.error = (error as Error).message;
  }
  answer.tookMs = Date.now() - answer.startedMs;
  delete answer.reading;
  const first = answer.repeats && turn.answers[answer.repeats.of];
  if (first && answer.finish !== 'failed') Object.assign(answer.repeats!, compare(first, answer));
  running.delete(conversation.id);
  conversation.changedMs = Date.now();
  keep(conversation);
}

function begin(conversation: Conversation, turn: AssistantTurn, answer: Answer): void {
  turn.chosen = turn.answers.push(answer) - 1;
  conversation.changedMs = Date.now();
  save(conversation);
  void run(conversation, turn, answer);
}

const newAnswer = (settings: Settings): Answer => ({
  text: '',
  reasoning: '',
  calls: [],
  settings: { ...settings, seed: settings.seed ?? newSeed() },
  model: settings.model,
  startedMs: Date.now(),
});

// What follows the last turn of the conversation.
export function answer(conversation: Conversation): void {
  const turn: AssistantTurn = { role: 'assistant', id: newId(), answers: [], chosen: 0 };
  conversation.turns.push(turn);
  begin(conversation, turn, newAnswer(conversation.settings));
}

export function send(conversation: Conversation, text: string): void {
  conversation.title ||= text.trim().split('\n')[0]!.slice(0, 80);
  conversation.turns.push({ role: 'user', id: newId(), text });
  answer(conversation);
}

// What follows a turn is dropped: it answered something else.
function cutBehind(conversation: Conversation, turn: Turn): void {
  conversation.turns.length = conversation.turns.indexOf(turn) + 1;
}

// Another answer, with another seed unless the settings say which.
export function retry(conversation: Conversation, turn: AssistantTurn): void {
  cutBehind(conversation, turn);
  begin(conversation, turn, newAnswer(conversation.settings));
}

// The chosen answer once more, with all it was asked for, and the seed.
export function repeat(conversation: Conversation, turn: AssistantTurn): void {
  cutBehind(conversation, turn);
  const of = turn.chosen;
  const again = newAnswer(chosenAnswer(turn).settings);
  begin(conversation, turn, { ...again, repeats: { of } });
}

export function edit(conversation: Conversation, turn: Turn, text: string): void {
  if (turn.role !== 'user') return;
  turn.text = text;
  cutBehind(conversation, turn);
  if (conversation.turns[0] === turn) conversation.title = text.trim().split('\n')[0]!.slice(0, 80);
  answer(conversation);
}

// What tools gave for the calls of an answer.
export function giveResults(conversation: Conversation, turn: AssistantTurn, results: string[]): void {
  cutBehind(conversation, turn);
  chosenAnswer(turn).calls.forEach(({ id, name }, index) => {
    const text = results[index] ?? '';
    conversation.turns.push({ role: 'tool', id: newId(), callId: id, name, text });
  });
  answer(conversation);
}
