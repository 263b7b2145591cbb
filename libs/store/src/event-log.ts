import { pickScopes, type Session, type StoredEvent } from '@agentmesh/agent';
import { type Event, MeshError } from '@agentmesh/protocol';
import { toJson } from './json.ts';

/** An entry of the stream as Redis gives it: `0-<seq>` and the fields. */
export type LogEntry = [id: string, fields: string[]];

export function storedEventOf([id, fields]: LogEntry): StoredEvent {
  return { seq: Number(id.slice('0-'.length)), event: JSON.parse(fields[1] ?? 'null') as Event };
}

/** The event as it is stored, without `temp:` keys. @throws MeshError `invalid_argument` */
export function eventJson(event: Event): string {
  const { id, timestamp, actions } = event;
  if (typeof id !== 'string' || id === '' || !id.isWellFormed() || !Number.isFinite(timestamp)) {
    throw new MeshError('invalid_argument', 'an event needs an id and a timestamp in ms; use createEvent');
  }
  const stateDelta = pickScopes(actions.stateDelta, ['app', 'user', 'session']);
  return toJson({ ...event, actions: { ...actions, stateDelta } }, 'the event');
}

/** Checks how many or from where. @throws MeshError `invalid_argument` */
export function assertCount(name: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 0) return;
  throw new MeshError('invalid_argument', `${name} must be a whole number from 0, not ${value}`);
}

/** The error for a session object that is ahead of the store. */
export function notTheSame({ id }: Session): MeshError {
  const why = 'it was deleted and another has its id, or the store lost its last events';
  return new MeshError('not_found', `session ${id} is not the one that was read: ${why}; read it again`);
}
