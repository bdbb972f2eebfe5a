// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Changes of the cluster: a machine is invited, drained, or revoked.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Problem, useAction } from './action';
import { change } from './api';
import { CopyButton, Icon } from './controls';
import type { Node } from './figures';
import { duration } from './format';

interface Invitation {
  command: string;
  end_s: number;
  answered: boolean;
}

function InvitationDialog({ command, end_s, answered, onClose }: Invitation & { onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="wide" aria-labelledby="invitation-title" onClose={onClose}>
      <form method="dialog">
        <h2 id="invitation-title">Run this on the machine that joins</h2>
        <div class="command">
          <code>{command}</code>
          <CopyButton text={command} label="Copy the command" />
        </div>
        <p class="faint">
          The code admits one machine, within {duration(Math.max(0, end_s * 1000 - Date.now()))}. Any machine with
          the code can join: keep it secret. Then run <code>aster node</code> there.
        </p>
        {!answered && (
          <p class="problem">
            No node runs on the server's machine to answer: start one there with <code>aster node</code>.
          </p>
        )}
        <div class="row end">
          <button class="primary">Close</button>
        </div>
      </form>
    </dialog>
  );
}

export function InviteButton(): JSX.Element {
  const [invitation, setInvitation] = useState<Invitation>();
  const { isBusy, problem, act } = useAction();
  return (
    <>
      <button
        type="button"
        class="quiet with-icon"
        disabled={isBusy}
        onClick={() => act(async () => setInvitation(await change<Invitation>('invite', { minutes: 10 })))}
      >
        <Icon name="plus" />
        Invite a machine
      </button>
      <Problem text={problem} />
      {invitation && <InvitationDialog {...invitation} onClose={() => setInvitation(undefined)} />}
    </>
  );
}

function RevokeDialog({ node, onDone }: { node: Node; onDone: (isSure: boolean) => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="revoke-title" onClose={() => onDone(false)}>
      <form method="dialog">
        <h2 id="revoke-title">Revoke {node.name}?</h2>
        <p>
          No machine of the cluster trusts it from then on. This is final: to return, it has to join again with a
          new code.
        </p>
        <div class="row end">
          <button class="quiet" autofocus>
            Cancel
          </button>
          <button type="button" class="primary bad" onClick={() => onDone(true)}>
            Revoke {node.name}
          </button>
        </div>
      </form>
    </dialog>
  );
}

// Of one machine. A drained one keeps its place in the cluster, and has no layers of this server.
export function NodeActions({ node, isDrained }: { node: Node; isDrained: boolean }): JSX.Element {
  const [isAsked, setAsked] = useState(false);
  const { isBusy, problem, act } = useAction();
  const body = { node: node.node };
  return (
    <>
      <div class="row">
        <button
          type="button"
          class="quiet"
          disabled={isBusy}
          title={
            isDrained ? 'Give it layers again' : 'Give it no layers; running answers go on with the other machines'
          }
          onClick={() => act(() => change('drain', { ...body, drained: !isDrained }))}
        >
          {isDrained ? 'Use again' : 'Drain'}
          <span class="hidden"> {node.name}</span>
        </button>
        <button type="button" class="quiet" disabled={isBusy} onClick={() => setAsked(true)}>
          Revoke…
          <span class="hidden"> {node.name}</span>
        </button>
      </div>
      <Problem text={problem} />
      {isAsked && (
        <RevokeDialog
          node={node}
          onDone={(isSure) => {
            setAsked(false);
            if (isSure) act(() => change('revoke', body));
          }}
        />
      )}
    </>
  );
}
