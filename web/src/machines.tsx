// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The machines of the cluster, and the links between them.
import type { JSX } from 'preact';
import { InviteButton, NodeActions } from './changes';
import type { ClusterState, Device, Link, Node, Role, Status } from './figures';
import { byteRate, bytes, digits, duration, percent, plural, since } from './format';
import { Bar, DiskCache } from './parts';

const layersText = (begin: number, end: number): string =>
  end - begin === 1 ? `layer ${begin}` : `layers ${begin}–${end - 1}`;

function DeviceLine({ device }: { device: Device }): JSX.Element {
  const facts = [
    `${bytes(device.memory_bytes)} of its own`,
    device.memory_bytes_per_s && `${byteRate(device.memory_bytes_per_s)} memory`,
    device.multiply_flops_per_s && `${digits(device.multiply_flops_per_s / 1e9)} Gflop/s`,
    device.bus_bytes_per_s && `${byteRate(device.bus_bytes_per_s)} bus`,
  ].filter(Boolean);
  return (
    <p class="faint">
      <strong>{device.name}</strong> · {facts.join(' · ')}
    </p>
  );
}

const roleNames: Record<string, string> = {
  prefill: 'prefill',
  decode: 'decode',
  group: 'part of a group',
  ensemble_member: 'ensemble member',
  drafter: 'drafter',
  kv_cache: 'KV cache',
};

// Each role once, with the models that it is for.
function Roles({ roles }: { roles: Role[] }): JSX.Element | null {
  const models = new Map<string, Set<string>>();
  for (const { role, model } of roles) {
    const of = models.get(role) ?? new Set();
    if (model && (role === 'drafter' || role === 'ensemble_member')) of.add(model);
    models.set(role, of);
  }
  if (models.size === 0) return null;
  const texts = [...models].map(([role, of]) => {
    const name = roleNames[role] ?? role;
    return of.size > 0 ? `${name} (${[...of].join(', ')})` : name;
  });
  return <p class="faint">Roles: {texts.join(', ')}</p>;
}

// Of one role, model and slice, the longest frame.
function RoleRates({ roles }: { roles: Role[] }): JSX.Element | null {
  const longest = new Map<string, Role>();
  for (const role of roles) {
    if (role.rows === undefined || role.layer_end === undefined) continue;
    const key = [role.role, role.model, role.layer_begin, role.layer_end].join();
    if (role.rows > (longest.get(key)?.rows ?? 0)) longest.set(key, role);
  }
  if (longest.size === 0) return null;
  return (
    <p class="faint">
      Measured:{' '}
      {[...longest.values()]
        .map(
          ({ role, model, layer_begin: begin, layer_end: end, tokens_per_s: rate }) =>
            `${role} of ${model || 'a model'}, ${layersText(begin ?? 0, end ?? 0)}, ${digits(rate ?? 0)} tokens/s`,
        )
        .join('; ')}
    </p>
  );
}

function Drained({ node }: { node: Node }): JSX.Element | null {
  if (!node.drained) return null;
  const left = node.leaving ?? 0;
  return (
    <p>
      {left === 0
        ? 'Drained: nothing is computed here, and it may be switched off.'
        : `Drained: ${plural(left, 'front end')} still ${left === 1 ? 'has' : 'have'} layers or KV rows here.`}
    </p>
  );
}

interface NodeProps {
  node: Node;
  isDrained: boolean;
  takesChanges: boolean;
}
function NodeCard({ node, isDrained, takesChanges }: NodeProps): JSX.Element {
  const facts = [
    node.cores && plural(node.cores, 'core'),
    node.instruction_set,
    node.memory_bytes_per_s && `${byteRate(node.memory_bytes_per_s)} memory`,
    node.multiply_flops_per_s && `${digits(node.multiply_flops_per_s / 1e9)} Gflop/s`,
    node.version && `version ${node.version}`,
    node.uptime_ms !== undefined && `up ${since(node.uptime_ms)}`,
    node.load !== undefined && node.load > 0 && `load ${digits(node.load)}`,
    node.battery && `${node.battery.discharges ? 'on battery,' : 'battery'} ${percent(node.battery.charge)}`,
  ].filter(Boolean);
  return (
    <section class="card node" aria-label={`Machine ${node.name}`}>
      <h3>
        <span class={`dot ${node.answered ? node.state : 'dead'}`} aria-hidden="true" />
        {node.name}
        <small>{node.answered || !node.why ? node.state : `does not answer: ${node.why}`}</small>
        {(isDrained || node.drained) && <span class="mark other">drained</span>}
      </h3>
      <Drained node={node} />
      <p class="faint">{facts.join(' · ')}</p>
      <Roles roles={node.roles ?? []} />
      <RoleRates roles={node.roles ?? []} />
      {(node.devices ?? []).map((device, index) => (
        <DeviceLine key={index} device={device} />
      ))}
      {node.memory_bytes !== undefined && node.memory_used_bytes !== undefined && (
        <Bar
          label="Memory for slices"
          limit={node.memory_bytes}
          parts={[{ value: node.memory_used_bytes, kind: 'held', text: bytes(node.memory_used_bytes) }]}
          text={`${bytes(node.memory_used_bytes)} of ${bytes(node.memory_bytes)}`}
        />
      )}
      <DiskCache disk={node.disk_cache} />
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
      {takesChanges && <NodeActions node={node} isDrained={isDrained} />}
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

interface Props {
  cluster: ClusterState;
  changes: Status['cluster'];
}
export function Machines({ cluster, changes }: Props): JSX.Element | null {
  if (cluster.error) {
    return (
      <p class="problem" role="alert">
        {cluster.error}
      </p>
    );
  }
  if (!changes) return null;
  return (
    <>
      <div class="heading">
        <h2>Machines</h2>
        {changes.takes_changes ? (
          <InviteButton />
        ) : (
          <p class="faint">
            To invite, drain and revoke machines here, start the server with <code>ASTER_ADMIN_KEY</code> or{' '}
            <code>--admin-keys</code>.
          </p>
        )}
      </div>
      <div class="cards">
        {cluster.nodes.map((node) => (
          <NodeCard
            key={node.node}
            node={node}
            isDrained={changes.drained.includes(node.node)}
            takesChanges={changes.takes_changes}
          />
        ))}
      </div>
      <Links nodes={cluster.nodes} />
    </>
  );
}
