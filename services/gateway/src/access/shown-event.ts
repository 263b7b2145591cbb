import type { Event, SessionRef } from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';
import { mayActFor } from './check-access.ts';

/** Returns an event as the caller of a request may see it. */
export type ShowEvent = (event: Event) => Event;

/** Returns what a caller sees of the events of a run: one who does not act for its user, as an approver, sees no state. */
export function shownTo(request: FastifyRequest, { appName, userId }: SessionRef): ShowEvent {
  if (mayActFor(request, appName, userId)) return (event) => event;
  return (event) => ({ ...event, actions: { ...event.actions, stateDelta: {} } });
}
