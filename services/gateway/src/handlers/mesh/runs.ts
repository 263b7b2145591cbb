import { type InvocationRecord, type RecentRun, statusOfRecord } from '@agentmesh/agent/internal';
import { appNames, hasEnded, type Mesh } from '@agentmesh/mesh';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { callerOf, hasRole } from '../../access/caller.ts';
import { assertCallerRole } from '../../access/check-access.ts';
import type { Handler } from '../../context/route.ts';
import { readQuery, wholeNumber } from '../../params/params.ts';

const statuses = ['waiting', 'running', 'completed', 'failed', 'cancelled', 'ended'] as const;
const text = z.string().min(1).optional();
const mostRuns = 'must be 1 to 200';

export const runsQuery = {
  app: text,
  user: text,
  status: z.enum(statuses).optional(),
  limit: wholeNumber.pipe(z.number().min(1, mostRuns).max(200, mostRuns)).default(50),
  before: z
    .string()
    .regex(/^\d{1,15}(?:\.\d{1,6})?$/, 'must be `next` of the page before')
    .transform(Number)
    .optional(),
};

const run = z.looseObject({
  ...{ invocationId: z.string(), app: z.string(), user: z.string(), session: z.string() },
  agent: z.string().optional(),
  since: z.number().describe('in ms since 1970'),
  status: z.enum(statuses).describe('`ended`: the record of the run is not kept any more'),
  llmCalls: z.number().int().optional(),
  tokens: z.number().int().optional(),
  error: z.looseObject({ code: z.string(), message: z.string() }).optional(),
  cancelled: z.string().optional(),
});
type Run = z.infer<typeof run>;
export const runsAnswer = z.looseObject({
  runs: z.array(run),
  next: z.number().optional().describe('`before` of the next page; absent on the last page'),
});

/** The largest number of runs that one request looks at; each is one record in the store. */
const mostLooks = 400;
const atOnce = 50;

/** Answers with the newest runs of the apps of which the caller is an operator, newest first. */
export const listRuns: Handler = async ({ mesh }, request) => {
  const { app, user, status, limit, before } = readQuery(runsQuery, request);
  const isFiltered = user !== undefined || status !== undefined;
  const page = { limit: isFiltered ? 1_000 : limit + 1, before };
  const lists = await Promise.all(
    operatedApps(mesh, request, app).map((each) => mesh.sessions.overview.recentRuns(each, page)),
  );
  const found = lists
    .flat()
    .filter(({ userId }) => user === undefined || userId === user)
    .sort((a, b) => b.since - a.since);
  const runs: Run[] = [];
  let looked = 0;
  while (looked < Math.min(found.length, mostLooks) && runs.length < limit) {
    const some = found.slice(
      looked,
      looked + Math.min(atOnce, status === undefined ? limit - runs.length : atOnce),
    );
    const described = await Promise.all(some.map((each) => describeRun(mesh, each)));
    for (const each of described) {
      if (runs.length === limit) break;
      looked += 1;
      if (status === undefined || each.status === status) runs.push(each);
    }
  }
  const last = found[looked - 1];
  return { runs, ...(last && looked < found.length && { next: last.since }) };
};

/** Returns the apps of a request: the named one, or all of which the caller is an operator. */
function operatedApps(mesh: Mesh, request: FastifyRequest, app: string | undefined): string[] {
  if (app !== undefined) {
    assertCallerRole(request, app, 'operator', 'to see the runs of all users');
    return [app];
  }
  return appNames(mesh).filter((each) => hasRole(callerOf(request), each, 'operator'));
}

async function describeRun(mesh: Mesh, { agent, since, ...ref }: RecentRun): Promise<Run> {
  const { invocationId, appName: app, userId: user, sessionId: session } = ref;
  const record = await mesh.sessions.invocations.get(ref);
  const { llmCalls, tokens, error } = record;
  const status = await statusInList(mesh, ref, record);
  // The record of a run that was cancelled before it began has the reason in the error.
  const { cancelled = status === 'cancelled' ? error?.message : undefined } = record;
  return {
    ...{ invocationId, app, user, session, since },
    ...(agent !== undefined && { agent }),
    status,
    ...(record.home !== undefined && { llmCalls, tokens }),
    ...(error && { error }),
    ...(cancelled !== undefined && { cancelled }),
  };
}

async function statusInList(
  { sessions }: Mesh,
  ref: Omit<RecentRun, 'agent' | 'since'>,
  record: InvocationRecord,
): Promise<Run['status']> {
  const status = statusOfRecord(record);
  if (hasEnded(status)) return status;
  if (record.home === undefined) return 'ended';
  const work = await sessions.invocations.workIn(ref);
  return work?.invocationId === ref.invocationId ? 'running' : 'waiting';
}
