// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What the server says of itself (GET /v1/status, GET /v1/cluster), looked at again and again, and
// the rates between two looks. Must not know how it is shown.
import { getJson } from './api';

export interface Hop {
  node: string;
  layers: string;
  layer_begin: number;
  layer_end: number;
  frames: number;
  queue_ns: number;
  compute_ns: number;
  send_ns: number;
  idle_ns: number;
  sent_bytes: number;
}

interface Quantiles {
  p50_at_most: number;
  p99_at_most: number;
  mean: number;
}

// KV rows on a disk; counts are since the process began.
export interface DiskCacheStatus {
  bytes: number;
  bytes_limit: number;
  files: number;
  loaded_tokens: number;
  loaded_bytes: number;
  looked_for_pages: number;
  found_pages: number;
}

export interface ModelStatus {
  id: string;
  context_length: number;
  sampled_tokens: number;
  now: { queued: number; running: number };
  since_start: {
    answers: number;
    prompt_tokens: number;
    cached_tokens: number;
    answer_tokens: number;
    drafted_tokens: number;
    accepted_tokens: number;
    abandoned: number;
    failed: number;
  };
  first_token_seconds: Quantiles | null;
  next_token_seconds: Quantiles | null;
  prompt_tokens_per_second: Quantiles | null;
  answer_tokens_per_second: Quantiles | null;
  kv: {
    bytes: number | null;
    cached_bytes: number | null;
    bytes_limit: number | null;
    tokens_limit: number | null;
  };
  handed_over: { prompts: number; bytes: number; exposed_ns: number };
  hops: Hop[];
  replans: number;
  planned: { prefill_tokens_per_s: number; decode_tokens_per_s: number } | null;
  plan_reasons: string[];
  disk_cache: DiskCacheStatus | null; // null: none, or nodes have theirs
}

export interface Status {
  version: string;
  now: { queued: number; running: number; connections: number };
  models: ModelStatus[];
  cluster: { takes_changes: boolean; drained: string[] } | null; // null: the server is on none
}

export interface Slice {
  route: string;
  model: string;
  layer_begin: number;
  layer_end: number;
  embedding: boolean;
  head: boolean;
  ready: boolean;
  done_bytes: number;
  total_bytes: number;
  weight_bytes: number;
  kv_held_bytes: number;
  kv_budget_bytes: number;
  sequences: number;
  queued_frames: number;
  tokens_per_s: number | null;
  busy: number | null;
}

export interface Link {
  peer: string;
  up: boolean;
  round_trip_ns: number | null;
  bytes_per_s: number | null;
  sent_bytes: number;
  received_bytes: number;
  sent_bytes_per_s: number | null;
}

// A GPU of a machine.
export interface Device {
  name: string;
  memory_bytes: number;
  multiply_flops_per_s: number | null;
  memory_bytes_per_s: number | null;
  bus_bytes_per_s: number | null;
}

// What plans can use a machine for; rates of a model are of a frame that it computed lately.
export interface Role {
  role: string;
  model?: string;
  layer_begin?: number;
  layer_end?: number;
  rows?: number;
  tokens_per_s?: number | null;
}

export interface Node {
  node: string;
  name: string;
  state: string;
  answered: boolean;
  why?: string;
  addresses: string[];
  version?: string;
  arithmetic?: number;
  cores?: number;
  instruction_set?: string;
  memory_bytes?: number;
  memory_total_bytes?: number;
  multiply_flops_per_s?: number | null;
  memory_bytes_per_s?: number | null;
  models?: { name: string; layer_count: number; layers: [number, number][]; tensor_bytes: number }[];
  devices?: Device[];
  roles?: Role[];
  uptime_ms?: number;
  memory_used_bytes?: number;
  drained?: boolean; // for all servers, by aster cluster drain
  load?: number; // of all programs; 0: not known
  battery?: { charge: number; discharges: boolean } | null;
  leaving?: number; // of a drained one: front ends that still have layers or KV rows there
  disk_cache?: DiskCacheStatus | null;
  slices?: Slice[];
  links?: Link[];
}

export interface ClusterState {
  nodes: Node[];
  error?: string;
}

export interface Look {
  timeMs: number;
  status: Status;
}

const keptLooks = 300;
const everyMs = 1000;
const looks: Look[] = [];
let cluster: ClusterState = { nodes: [] };

export interface Figures {
  looks: readonly Look[];
  cluster: ClusterState;
  problem: string;
}

// Asks while a page shows figures; earlier ones are kept.
export function watch(onLook: (figures: Figures) => void): () => void {
  const abort = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = async (): Promise<void> => {
    let problem = '';
    try {
      if (!document.hidden) {
        const [status, nodes] = await Promise.all([
          getJson<Status>('/v1/status', abort.signal),
          getJson<ClusterState>('/v1/cluster', abort.signal),
        ]);
        cluster = nodes;
        looks.push({ timeMs: Date.now(), status });
        if (looks.length > keptLooks) looks.shift();
      }
    } catch (error) {
      if (abort.signal.aborted) return;
      problem = (error as Error).message;
    }
    if (abort.signal.aborted) return;
    onLook({ looks, cluster, problem });
    timer = setTimeout(look, everyMs);
  };
  if (looks.length > 0) onLook({ looks, cluster, problem: '' });
  void look();
  return () => {
    abort.abort();
    clearTimeout(timer);
  };
}

// By second, between each look and the one before it; null where the server began anew or nothing
// was looked at for long.
export function rates(all: readonly Look[], of: (look: Look) => number): (number | null)[] {
  return all.map((look, index) => {
    const before = all[index - 1];
    if (!before) return null;
    const seconds = (look.timeMs - before.timeMs) / 1000;
    const change = of(look) - of(before);
    return change < 0 || seconds <= 0 || seconds > 10 ? null : change / seconds;
  });
}

export const sumOf = (look: Look, of: (model: ModelStatus) => number): number =>
  look.status.models.reduce((sum, model) => sum + of(model), 0);

// What a machine did between two looks, as parts of the time: it computed, its rows were on the way
// to the next machine, or frames were in flight and it waited for them; else no frame was in flight.
export interface Shares {
  compute: number;
  transfer: number;
  wait: number;
}

// Nothing where the route was another one, or nothing was looked at for long.
export function sharesBetween(before: Look, after: Look, model: number, hop: number): Shares | undefined {
  const a = before.status.models[model]?.hops[hop];
  const b = after.status.models[model]?.hops[hop];
  const ns = (after.timeMs - before.timeMs) * 1e6;
  if (!a || !b || a.node !== b.node || b.compute_ns < a.compute_ns || ns <= 0 || ns > 1e10) return undefined;
  const compute = Math.min(1, (b.compute_ns - a.compute_ns) / ns);
  const idle = Math.min(1 - compute, Math.max(0, b.idle_ns - a.idle_ns) / ns);
  // Several frames may be on the way at once.
  const transfer = Math.min(idle, (b.send_ns - a.send_ns) / ns);
  return { compute, transfer, wait: idle - transfer };
}
