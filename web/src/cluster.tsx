// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What the server and its machines do at this moment.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Curve } from './curve';
import { type Figures, type Look, type ModelStatus, rates, sumOf, watch } from './figures';
import { bytes, count, digits, duration, percent, plural } from './format';
import { Machines } from './machines';
import { Bar, DiskCache, Figure } from './parts';
import { Stages } from './stages';

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

const perSecond = (rate: number | undefined): string => (rate ? digits(rate) : '–');

// What the plan expects, beside what was measured since the server began.
function Rates({ model }: { model: ModelStatus }): JSX.Element | null {
  const { planned, prompt_tokens_per_second: prompts, answer_tokens_per_second: answers } = model;
  if (!planned) return null;
  const rows = [
    ['Prefill, of long prompts', planned.prefill_tokens_per_s, prompts?.mean],
    ['Decode, of one answer', planned.decode_tokens_per_s, answers?.mean],
  ] as const;
  return (
    <div class="table">
      <table class="rates">
        <thead>
          <tr>
            <th>Tokens/s</th>
            <th class="right">Predicted</th>
            <th class="right">Measured, mean</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, predicted, measured]) => (
            <tr key={name}>
              <td>{name}</td>
              <td class="right">{perSecond(predicted)}</td>
              <td class="right">{perSecond(measured)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Plan({ model }: { model: ModelStatus }): JSX.Element | null {
  if (model.plan_reasons.length === 0 && model.replans === 0) return null;
  return (
    <details class="plan">
      <summary>Why the layers are where they are</summary>
      {model.replans > 0 && (
        <p>
          {model.replans === 1
            ? 'Another route has taken the place of the first.'
            : `${count(model.replans)} other routes have taken the place of those before.`}
        </p>
      )}
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
      <DiskCache disk={model.disk_cache} />
      <Drafts model={model} />
      <Rates model={model} />
      <Plan model={model} />
    </section>
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
              <Machines cluster={figures.cluster} changes={newest.cluster} />
            </>
          )}
        </div>
      </div>
    </main>
  );
}
