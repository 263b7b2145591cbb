import { appNames, type ConnectedMesh, pendingCalls } from '@agentmesh/mesh';
import { meshTime } from '@agentmesh/protocol';
import type { Logger } from '@agentmesh/service';
import { type BatchObservableResult, metrics } from '@opentelemetry/api';
import { inTime } from './in-time.ts';

/** The largest number of users of an app whose calls are counted: each is a request to Redis at each look. */
const mostUsers = 200;

interface PendingMetrics {
  mesh: ConnectedMesh;
  log: Logger;
}

/**
 * Shows the calls that wait for an answer among the metrics of this process, at each look. Every gateway shows the
 * same figures. When Redis does not tell them in time, they are left out. Ends when it is disposed.
 */
export function showPending({ mesh, log }: PendingMetrics): Disposable {
  const meter = metrics.getMeter('agentmesh');
  const calls = meter.createObservableGauge('agentmesh.pending.calls', {
    description: 'Calls that wait for an answer of a person or a program',
  });
  const age = meter.createObservableGauge('agentmesh.pending.oldest.age', {
    unit: 's',
    description: 'Age of the oldest of these calls',
  });
  const instruments = [calls, age];
  const look = async (result: BatchObservableResult) => {
    try {
      for (const { app, created } of await inTime(Promise.all(appNames(mesh).map(lookAt)))) {
        result.observe(calls, created.length, { app });
        const seconds = created.length === 0 ? 0 : (meshTime() - Math.min(...created)) / 1_000;
        result.observe(age, Math.max(0, seconds), { app });
      }
    } catch (error) {
      log.debug({ err: error }, 'the metrics lack the figures of what waits');
    }
  };
  const lookAt = async (app: string) => {
    const users = await mesh.sessions.overview.waitingUsers(app, mostUsers);
    const lists = await Promise.all(users.map(({ userId: user }) => pendingCalls(mesh, { app, user })));
    return { app, created: lists.flat().map(({ created }) => created) };
  };
  meter.addBatchObservableCallback(look, instruments);
  return { [Symbol.dispose]: () => meter.removeBatchObservableCallback(look, instruments) };
}
