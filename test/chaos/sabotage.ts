import { randomUUID } from 'node:crypto';
import type { SessionService } from '@agentmesh/agent';
import type { Bus } from '@agentmesh/bus';
import type { Mesh } from '@agentmesh/mesh';
import { header } from '@agentmesh/protocol';
import type { CallResults, JobRecords } from '@agentmesh/store';
import { intercept } from '@agentmesh/testing';

interface Parts {
  bus: Bus;
  sessions: SessionService;
  callResults: CallResults;
  jobs: JobRecords;
}

/** The protections that a test removes, to show that the checker notices. */
const removals = {
  /** Lets a replica commit after it has lost its run. */
  'no-fencing'({ sessions }: Pick<Parts, 'sessions'>) {
    intercept(
      sessions,
      'appendEvent',
      (call) =>
        ({ token: _token, ...request }) =>
          call(request),
    );
    intercept(sessions.invocations, 'countLlmCall', (call) => (ref) => call(ref));
    intercept(sessions.invocations, 'end', (call) => (ref, end) => call(ref, end));
  },
  /** Makes each call a new one. */
  'no-dedupe'({ callResults }) {
    intercept(callResults, 'get', () => async () => undefined);
    intercept(callResults, 'take', () => async () => ({ state: 'taken' }));
    intercept(callResults, 'put', () => async (_tool, _callId, result) => result);
  },
  /** Acknowledges a run at its delivery, before the work on it. */
  'ack-first'({ bus }) {
    changeRuns(bus, (handle) => async (item) => {
      void handle(item).catch(() => {});
      return { done: true };
    });
  },
  /** Never acknowledges a run. */
  'never-ack'({ bus }) {
    changeRuns(bus, (handle) => async (item) => {
      await handle(item);
      return { done: false, delayMs: 1_000 };
    });
  },
  /** Gives a busy session to the next run. */
  'no-lease'({ sessions }) {
    intercept(sessions.leases, 'take', (call) => async (ref, options) => {
      const taken = await call(ref, options);
      const view = taken.state === 'busy' ? await sessions.leases.look(ref) : undefined;
      if (!view) return taken;
      const record = await sessions.invocations.get(ref);
      return { state: 'held', ...view, record, token: 1, begun: 1, attempt: 1, mark: '' };
    });
    removals['no-fencing']({ sessions });
  },
  /** Hides the runs that were accepted before. */
  'no-order'({ bus }) {
    intercept(bus, 'earlierRuns', () => async function* () {});
    changeRuns(bus, (handle) => (item) => handle({ ...item, json: () => item.json(), place: 1 }));
  },
  /** Takes every replica for dead. */
  'no-gone-check'({ bus }) {
    intercept(bus, 'isGone', () => async () => true);
  },
  /** Loses the result of a call of a remote tool. */
  'no-result'({ callResults }) {
    intercept(callResults, 'put', () => async (_tool, _callId, result) => result);
  },
  /** Lets a call be answered again. */
  'answer-twice'({ sessions }) {
    intercept(sessions.pending, 'accept', () => async () => ({ state: 'accepted' }));
    intercept(sessions.pending, 'stateOf', () => async () => 'open');
  },
  /** Drops the outcomes of calls. */
  'lost-outcome'({ bus }) {
    intercept(
      bus,
      'consumeOperations',
      (call) => (agent, _handle, options) => call(agent, async () => ({ done: true }), options),
    );
  },
  /** Forgets a cancellation, and says that it was noted. */
  'lost-cancel'({ sessions, bus }) {
    intercept(sessions.invocations, 'cancel', () => (ref) => sessions.invocations.get(ref));
    intercept(
      bus,
      'publish',
      (call) => async (subject, payload, options) =>
        subject.includes('.cancel') ? undefined : await call(subject, payload, options),
    );
  },
  /** Ignores the deadlines of runs. */
  'no-deadline'({ bus }) {
    changeRuns(bus, (handle) => (item) => {
      const { [header.deadline]: _deadline, ...headers } = item.headers;
      return handle({ ...item, json: () => item.json(), headers });
    });
  },
  /** Never starts the next run of a session. */
  'no-next-run'({ sessions }) {
    intercept(sessions.leases, 'nextRun', () => async () => undefined);
  },
  /** Gives the message of a user another id with each attempt. */
  'new-ids'({ sessions }) {
    intercept(sessions, 'appendEvent', (call) => (request) => {
      if (request.event.author === 'user') request.event.id = randomUUID();
      return call(request);
    });
    intercept(
      sessions.leases,
      'take',
      (call) => (ref, options) => call(ref, { ...options, first: undefined }),
    );
  },
  /** Gives a job to every worker that asks. */
  'no-job-lease'({ jobs }) {
    intercept(jobs, 'take', (call) => async (tool, job, holder, leaseMs) => {
      const taken = await call(tool, job, holder, leaseMs);
      return taken.state === 'busy' ? await call(tool, job, holder, leaseMs, taken.holder) : taken;
    });
  },
  /** Keeps what was to be deleted. */
  'no-deletion'({ sessions }) {
    intercept(sessions, 'deleteSession', () => async () => {});
  },
  /** Tells an end twice, and differently. */
  'two-ends'({ bus }) {
    intercept(bus, 'publish', (call) => async (subject, payload, options) => {
      await call(subject, payload, options);
      if (options?.headers?.[header.end] !== 'completed') return;
      const { [header.end]: _end, ...headers } = options.headers;
      const end = {
        status: 'failed',
        lastSeq: 0,
        error: { code: 'cancelled', message: 'it was told twice' },
      };
      await call(subject, end, { ...options, headers: { ...headers, [header.frame]: 'result' } });
    });
  },
} satisfies Record<string, (parts: Parts) => void>;

/** The protections that a test removes from the mesh of a process. */
const meshRemovals = {
  /** Works on with the session as it was read before the session was taken. */
  'no-catch-up'({ sessionCache }) {
    intercept(sessionCache, 'refresh', () => async (session) => session);
  },
  /** Trusts sessions of earlier turns without a look at the store. */
  'stale-session'({ sessionCache }) {
    const kept = new Map<string, ReturnType<typeof sessionCache.open>>();
    intercept(sessionCache, 'open', (call) => (ref, need) => {
      const known = kept.get(ref.sessionId) ?? call(ref, need);
      kept.set(ref.sessionId, known);
      return known;
    });
    intercept(sessionCache, 'refresh', () => async (session) => session);
  },
} satisfies Record<string, (mesh: Mesh) => void>;

export type Sabotage = keyof typeof removals | keyof typeof meshRemovals;
export const sabotages = [...Object.keys(removals), ...Object.keys(meshRemovals)] as readonly Sabotage[];

/** Removes one protection from the parts of a service, from outside. */
export function sabotage(kind: Sabotage, parts: Parts): void {
  if (Object.hasOwn(removals, kind)) removals[kind as keyof typeof removals](parts);
}

/** Removes one protection from a mesh that was made from its parts. */
export function sabotageMesh(kind: Sabotage, mesh: Mesh): void {
  if (Object.hasOwn(meshRemovals, kind)) meshRemovals[kind as keyof typeof meshRemovals](mesh);
}

type Handler = Parameters<Bus['consumeRuns']>[1];

function changeRuns(bus: Bus, change: (handle: Handler) => Handler): void {
  intercept(bus, 'consumeRuns', (call) => (agent, handle, options) => call(agent, change(handle), options));
}
