import { type AddressedCall, appNames, pendingCalls } from '@agentmesh/mesh';
import { pendingReplySchema } from '@agentmesh/protocol';
import { z } from 'zod';
import { callerOf, hasRole } from '../../access/caller.ts';
import { assertCallerRole } from '../../access/check-access.ts';
import type { Handler } from '../../context/route.ts';
import { readQuery } from '../../params/params.ts';

export const meshPendingQuery = { app: z.string().min(1).optional() };
export const meshPendingAnswer = z.looseObject({
  pending: pendingReplySchema.shape.pending,
  more: z.boolean().describe('true when there are calls that are not listed'),
});

/** The largest number of users of an app whose calls are listed, and of all calls. */
const mostUsers = 200;
const mostCalls = 500;

/** Answers with the calls of all users that wait for an answer, in the apps of which the caller is an approver. */
export const listMeshPending: Handler = async ({ mesh }, request) => {
  const { app } = readQuery(meshPendingQuery, request);
  if (app !== undefined) assertCallerRole(request, app, 'approver', 'to see what waits for all users');
  const apps = app === undefined ? appNames(mesh) : [app];
  const calls: AddressedCall[] = [];
  let more = false;
  for (const each of apps.filter((name) => hasRole(callerOf(request), name, 'approver'))) {
    const users = await mesh.sessions.overview.waitingUsers(each, mostUsers + 1);
    more ||= users.length > mostUsers;
    const lists = await Promise.all(
      users.slice(0, mostUsers).map(({ userId }) => pendingCalls(mesh, { app: each, user: userId })),
    );
    calls.push(...lists.flat());
  }
  const sorted = calls.sort((a, b) => b.created - a.created);
  return { pending: sorted.slice(0, mostCalls), more: more || sorted.length > mostCalls };
};
