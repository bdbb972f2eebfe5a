// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What the server and its machines do at this moment.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Curve } from './curve';
import {
  type ClusterState,
  type Figures,
  type Link,
  type Look,
  type ModelStatus,
  type Node,
  hopShares,
  rates,
  sumOf,
  watch,
} from './figures';
import { byteRate, bytes, count, digits, duration, percent, plural } from './format';

interface BarProps {
  label: string;
  parts: { value: number; kind: string; text: string }[];
  limit: number;
  text: string;
}
// A part of a whole, with its numbers beside it.
function Bar({ label, parts, limit, text }: BarProps): JSX.Element {
  return (
    <div class="meter">
      <div class="meter-head">
        <span>{label}</span>
        <span>{text}</span>
      </div>
      <div class="track" role="img" aria-label={`${label}: ${text}`}>
        {parts.map(({ value, kind, text: title }) => (
          <span
            key={kind}
            class={kind}
            title={title}
            style={{ width: `${limit > 0 ? Math.min(100, (100 * value) / limit) : 0}%` }}
          />
        ))}
      </div>
    </div>
  );
}

const Figure = ({
  label,
  children,
  note,
}: {
  label: string;
  children: ComponentChildren;
  note?: string | undefined;
}): JSX.Element => (
  <div class="figure">
    <dt>{label}</dt>
    <dd>{children}</dd>
    {note && <dd class="faint">{note}</dd>}
  </div>
);

const atMost = (seconds: number | undefined): string =>
  seconds === undefined ? '–' : `≤ ${duration(seconds * 1000)}`;

function Drafts({ model }: { model: ModelStatus }): JSX.Element | null {
  const { drafted_tokens: drafted, accepted_tokens: accepted } = model.since_start;
  if (drafted === 0) return null;
  return (
    <Bar
      label="Draft tokens accepted"
      limit={drafted}
      parts={[{ value: accepted, kind: 'good', text: `${count(accepted)} accepted` }]}
      text={`${percent(accepted / drafted)} of ${count(drafted)}`}
    />
  );
}

function Memory({ model }: { model: ModelStatus }): JSX.Element | null {
  const { bytes: held, cached_bytes: cached, bytes_limit: limit, tokens_limit: tokens } = model.kv;
  const room = tokens ? `; room for ${count(tokens)} tokens of one conversation` : '';
  if (held === null || cached === null || limit === null) return null;
  return (
    <Bar
      label="KV cache"
      limit={limit}
      parts={[
        { value: held, kind: 'held', text: `${bytes(held)} in use` },
        { value: cached, kind: 'cached', text: `${bytes(cached)} kept for later` },
      ]}
      text={`${bytes(held)} in use, ${bytes(cached)} kept, of ${bytes(limit)}${room}`}
    />
  );
}

function DiskCache({ model }: { model: ModelStatus }): JSX.Element | null {
  const disk = model.disk_cache;
  if (!disk) return null;
  const found =
    disk.looked_for_pages > 0 ? `; ${percent(disk.found_pages / disk.looked_for_pages)} of pages found` : '';
  return (
    <Bar
      label="Disk cache"
      limit={disk.bytes_limit}
      parts={[{ value: disk.bytes, kind: 'cached', text: bytes(disk.bytes) }]}
      text={`${bytes(disk.bytes)} of ${bytes(disk.bytes_limit)} in ${plural(disk.files, 'file')}; ${count(disk.loaded_tokens)} tokens loaded${found}`}
    />
  );
}

const layersText = (begin: number, end: number): string =>
  end - begin === 1 ? `layer ${begin}` : `layers ${begin}–${end - 1}`;

// Which machine has which layers, and how it spends its time.
function Stages({
  model,
  index,
  looks,
}: {
  model: ModelStatus;
  index: number;
  looks: readonly Look[];
}): JSX.Element | null {
  if (model.hops.length === 0) return null;
  return (
    <section class="stages" aria-label={`Stages of ${model.id}`}>
      <ol>
        {model.hops.map((hop, place) => {
          const shares = hopShares(looks, index, place);
          const perFrame = hop.frames > 0 ? hop.compute_ns / hop.frames / 1e6 : 0;
          const sent = hop.frames > 0 ? hop.send_ns / hop.frames / 1e6 : 0;
          return (
            <li
              key={place}
              class={`stage color-${place % 6}`}
              style={{ flexGrow: Math.max(1, hop.layer_end - hop.layer_begin) }}
            >
              <strong>{hop.node}</strong>
              <span>{hop.layers}</span>
              <div
                class="track"
                role="img"
                aria-label={
                  shares ? `computes ${percent(shares.compute)} of the time` : 'nothing measured yet'
                }
              >
                {shares && (
                  <>
                    <span
                      class="computes"
                      title={`computes ${percent(shares.compute)}`}
                      style={{ width: `${100 * shares.compute}%` }}
                    />
                    <span
                      class="waits"
                      title={`waits for other stages ${percent(shares.idle)}`}
                      style={{ width: `${100 * shares.idle}%` }}
                    />
                  </>
                )}
              </div>
              <small>
                {hop.frames > 0
                  ? `${duration(perFrame)} a frame, ${duration(sent)} to the next; ${bytes(hop.sent_bytes)} sent`
                  : 'no frame yet'}
              </small>
            </li>
          );
        })}
      </ol>
      <ul class="legend">
        <li class="key computes">computes</li>
        <li class="key waits">waits for other stages</li>
      </ul>
    </section>
  );
}

function Plan({ model }: { model: ModelStatus }): JSX.Element | null {
  if (model.plan_reasons.length === 0 && model.replans === 0) return null;
  return (
    <details class="plan">
      <summary>Why the layers are where they are</summary>
      {model.replans > 0 && <p>{count(model.replans)} other routes have taken the place of the first.</p>}
      <pre>{model.plan_reasons.join('\n')}</pre>
    </details>
  );
}

function ModelCard({
  model,
  index,
  looks,
}: {
  model: ModelStatus;
  index: number;
  looks: readonly Look[];
}): JSX.Element {
  const { since_start: total, now } = model;
  const fresh = total.prompt_tokens - total.cached_tokens;
  return (
    <section class="card" aria-labelledby={`model-${index}`}>
      <h3 id={`model-${index}`}>{model.id}</h3>
      <dl class="figures-row">
        <Figure label="Running" note={now.queued > 0 ? `${count(now.queued)} queued` : undefined}>
          {count(now.running)}
        </Figure>
        <Figure label="First token, median">{atMost(model.first_token_seconds?.p50_at_most)}</Figure>
        <Figure label="Between tokens, median">{atMost(model.next_token_seconds?.p50_at_most)}</Figure>
        <Figure label="Answers" note={total.failed > 0 ? `${count(total.failed)} failed` : undefined}>
          {count(total.answers)}
        </Figure>
        <Figure label="Prompt tokens" note={`${count(fresh)} computed, ${count(total.cached_tokens)} cached`}>
          {count(total.prompt_tokens)}
        </Figure>
        <Figure label="Answer tokens">{count(total.answer_tokens)}</Figure>
        <Figure label="Context">{count(model.context_length)}</Figure>
        {model.handed_over.prompts > 0 && (
          <Figure label="KV transfers" note={`${bytes(model.handed_over.bytes)} in all`}>
            {count(model.handed_over.prompts)}
          </Figure>
        )}
      </dl>
      <Stages model={model} index={index} looks={looks} />
      <Memory model={model} />
      <DiskCache model={model} />
      <Drafts model={model} />
      <Plan model={model} />
    </section>
  );
}

function NodeCard({ node }: { node: Node }): JSX.Element {
  const facts = [
    node.cores && `${node.cores} cores`,
    node.instruction_set,
    node.memory_bytes_per_s && `${byteRate(node.memory_bytes_per_s)} memory`,
    node.multiply_flops_per_s && `${digits(node.multiply_flops_per_s / 1e9)} Gflop/s`,
    node.version && `version ${node.version}`,
    node.uptime_ms !== undefined && `up ${duration(node.uptime_ms)}`,
  ].filter(Boolean);
  return (
    <section class="card node" aria-label={`Machine ${node.name}`}>
      <h3>
        <span class={`dot ${node.answered ? node.state : 'dead'}`} aria-hidden="true" />
        {node.name}
        <small>{node.answered || !node.why ? node.state : `${node.state}: ${node.why}`}</small>
      </h3>
      <p class="faint">{facts.join(' · ')}</p>
      {node.memory_bytes !== undefined && node.memory_used_bytes !== undefined && (
        <Bar
          label="Memory for slices"
          limit={node.memory_bytes}
          parts={[{ value: node.memory_used_bytes, kind: 'held', text: bytes(node.memory_used_bytes) }]}
          text={`${bytes(node.memory_used_bytes)} of ${bytes(node.memory_bytes)}`}
        />
      )}
      {(node.slices ?? []).map((slice) => (
        <div key={`${slice.route}-${slice.layer_begin}`} class="slice">
          <div>
            <strong>{slice.model || 'a model'}</strong> {layersText(slice.layer_begin, slice.layer_end)}
            {slice.embedding && ', embedding'}
            {slice.head && ', head'}
          </div>
          {slice.ready ? (
            <>
              <Bar
                label="Busy"
                limit={1}
                parts={[{ value: slice.busy ?? 0, kind: 'computes', text: percent(slice.busy ?? 0) }]}
                text={`${percent(slice.busy ?? 0)}, ${digits(slice.tokens_per_s ?? 0)} tokens/s, ${plural(slice.queued_frames, 'frame')} queued`}
              />
              <Bar
                label="KV cache"
                limit={slice.kv_budget_bytes}
                parts={[{ value: slice.kv_held_bytes, kind: 'held', text: bytes(slice.kv_held_bytes) }]}
                text={`${bytes(slice.kv_held_bytes)} of ${bytes(slice.kv_budget_bytes)}, ${plural(slice.sequences, 'sequence')}`}
              />
            </>
          ) : (
            <Bar
              label="Loading"
              limit={slice.total_bytes}
              parts={[{ value: slice.done_bytes, kind: 'cached', text: bytes(slice.done_bytes) }]}
              text={`${bytes(slice.done_bytes)} of ${bytes(slice.total_bytes)}`}
            />
          )}
        </div>
      ))}
      {(node.models ?? []).length > 0 && (
        <p class="faint">
          Has{' '}
          {node
            .models!.map(({ name, layers, layer_count: all, tensor_bytes: size }) => {
              const held = layers.reduce((sum, [begin, end]) => sum + end - begin, 0);
              return `${name} (${held === all ? 'whole' : `${held} of ${all} layers`}, ${bytes(size)})`;
            })
            .join(', ')}
        </p>
      )}
    </section>
  );
}

function Links({ nodes }: { nodes: Node[] }): JSX.Element | null {
  const nameOf = new Map(nodes.map(({ node, name }) => [node, name]));
  const all = nodes.flatMap((from) => (from.links ?? []).map((link): [Node, Link] => [from, link]));
  if (all.length === 0) return null;
  return (
    <section class="card">
      <h3>Links</h3>
      <div class="table" tabIndex={0} role="region" aria-label="Links between machines">
        <table>
          <thead>
            <tr>
              <th>From</th>
              <th>To</th>
              <th class="right">Round trip</th>
              <th class="right">Rate</th>
              <th class="right">Sends now</th>
              <th class="right">Sent</th>
              <th class="right">Received</th>
            </tr>
          </thead>
          <tbody>
            {all.map(([from, link]) => (
              <tr key={from.node + link.peer} class={link.up ? '' : 'down'}>
                <td>{from.name}</td>
                <td>
                  {nameOf.get(link.peer) ?? link.peer.slice(0, 8)}
                  {!link.up && ' (down)'}
                </td>
                <td class="right">
                  {link.round_trip_ns === null ? '–' : duration(link.round_trip_ns / 1e6)}
                </td>
                <td class="right">{link.bytes_per_s === null ? '–' : byteRate(link.bytes_per_s)}</td>
                <td class="right">
                  {link.sent_bytes_per_s === null ? '–' : byteRate(link.sent_bytes_per_s)}
                </td>
                <td class="right">{bytes(link.sent_bytes)}</td>
                <td class="right">{bytes(link.received_bytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Machines({ cluster }: { cluster: ClusterState }): JSX.Element | null {
  if (cluster.error) {
    return (
      <p class="problem" role="alert">
        {cluster.error}
      </p>
    );
  }
  if (cluster.nodes.length === 0) return null;
  return (
    <>
      <h2>Machines</h2>
      <div class="cards">
        {cluster.nodes.map((node) => (
          <NodeCard key={node.node} node={node} />
        ))}
      </div>
      <Links nodes={cluster.nodes} />
    </>
  );
}

function Curves({ looks }: { looks: readonly Look[] }): JSX.Element {
  const times = looks.map(({ timeMs }) => timeMs / 1000);
  const kv = (of: (kv: ModelStatus['kv']) => number | null): number[] =>
    looks.map((look) => sumOf(look, ({ kv: memory }) => of(memory) ?? 0));
  const hasKv = looks.at(-1)?.status.models.some(({ kv: { bytes_limit: limit } }) => limit !== null);
  const tokens = rates(looks, (look) => sumOf(look, (model) => model.sampled_tokens));
  const prompts = rates(looks, (look) =>
    sumOf(look, ({ since_start: total }) => total.prompt_tokens - total.cached_tokens),
  );
  return (
    <div class="cards small">
      <Curve
        label="Tokens/s"
        times={times}
        format={digits}
        lines={[
          { name: 'answers', color: '--accent', values: tokens },
          { name: 'prompts computed', color: '--second', values: prompts },
        ]}
      />
      <Curve
        label="Requests"
        times={times}
        format={digits}
        lines={[
          { name: 'running', color: '--accent', values: looks.map(({ status }) => status.now.running) },
          { name: 'queued', color: '--second', values: looks.map(({ status }) => status.now.queued) },
        ]}
      />
      {hasKv && (
        <Curve
          label="KV cache"
          times={times}
          format={bytes}
          lines={[
            { name: 'in use', color: '--accent', values: kv((memory) => memory.bytes) },
            { name: 'kept', color: '--second', values: kv((memory) => memory.cached_bytes) },
          ]}
        />
      )}
    </div>
  );
}

export function Cluster(): JSX.Element {
  const [figures, setFigures] = useState<Figures>();
  useEffect(() => {
    document.title = 'Cluster · Asterism';
  }, []);
  useEffect(() => watch((seen) => setFigures({ ...seen })), []);
  const newest = figures?.looks.at(-1)?.status;
  return (
    <main class="cluster">
      <header class="bar">
        <h1>Cluster</h1>
        {newest && (
          <span class="faint">
            version {newest.version} · {plural(newest.now.connections, 'connection')}
          </span>
        )}
      </header>
      <div class="cluster-body">
        <div class="cluster-inside">
          {figures?.problem && (
            <p class="problem" role="alert">
              {figures.problem}
            </p>
          )}
          {figures && newest && (
            <>
              <Curves looks={figures.looks} />
              <h2>{newest.models.length === 1 ? 'Model' : 'Models'}</h2>
              {newest.models.map((model, index) => (
                <ModelCard key={model.id} model={model} index={index} looks={figures.looks} />
              ))}
              <Machines cluster={figures.cluster} />
            </>
          )}
        </div>
      </div>
    </main>
  );
}
