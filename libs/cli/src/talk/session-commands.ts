import { type Event, eventSchema, MeshError } from '@agentmesh/protocol';
import { z } from 'zod';
import { type Commands, listReport, type Report } from '../command/command.ts';
import { actsOf, replicaOf, textOf } from './describe-event.ts';
import { Gateway, type GatewaySession, sessionPath, sessionsPath } from './gateway.ts';
import { userOf, userOption } from './options.ts';

const sessionSchema = z.looseObject({ id: z.string(), appName: z.string(), lastUpdateTime: z.number() });
const pageSchema = z.object({
  events: z.array(z.object({ event: eventSchema, seq: z.number() })),
  lastSeq: z.number(),
});
const stateSchema = z.looseObject({ status: z.string(), llmCalls: z.number().optional() });
const pageSize = 100;

/** The commands that show sessions and their invocations, by their words. */
export const sessionCommands: Commands = {
  sessions: {
    usage: '[app]',
    meaning: 'lists the sessions of a user, the newest first; default: of all apps',
    options: [userOption],
    async run([app], around, options) {
      const gateway = new Gateway(around);
      return listReport(
        await sessionsOf(gateway, app, userOf(options)),
        ({ app: name, session, updated }) => `${name}  ${session}  ${new Date(updated).toISOString()}`,
      );
    },
  },
  'invocations list': {
    usage: '<app> <session>',
    meaning: 'lists the invocations of a session: begin, duration, agents, tokens, end',
    options: [userOption],
    async run([app = '', session = ''], around, options) {
      const gateway = new Gateway(around);
      const events = await eventsOf(gateway, { app, user: userOf(options), session });
      const groups = [...Map.groupBy(events, ({ invocationId }) => invocationId ?? '')];
      return listReport(
        groups.map(([id, each]) => summaryOf(id, each)),
        ({ invocation, begin, durationMs, agents, tokens, error }) =>
          `${invocation}  ${begin}  ${seconds(durationMs)}  ${agents.join(' → ')}  tokens: ${tokens}${error === undefined ? '' : `  ✗ ${error}`}`,
      );
    },
  },
  'invocations show': {
    usage: '<invocation>',
    meaning:
      'prints the timeline of an invocation over all services: who did what, where, when, and how long calls took',
    options: [userOption, { flags: '--app <name>', meaning: 'the app; default: all apps are searched' }],
    async run([id = ''], around, options) {
      const gateway = new Gateway(around);
      const places = await sessionsOf(gateway, options.text('app'), userOf(options));
      for (const place of places) {
        const events = (await eventsOf(gateway, place)).filter(({ invocationId }) => invocationId === id);
        if (events.length > 0) {
          const asked = await askedEvents(gateway, place, events);
          return await timeline(gateway, place, id, [...events, ...asked].sort(byTime));
        }
      }
      const where = `${places.length} sessions of user ${userOf(options)}`;
      throw new MeshError(
        'not_found',
        `no event of an invocation ${id} is in the ${where}; name another --user or --app`,
      );
    },
  },
};

interface FoundSession extends GatewaySession {
  /** The time of the last event, in epoch ms. */
  updated: number;
}

async function sessionsOf(gateway: Gateway, app: string | undefined, user: string): Promise<FoundSession[]> {
  const apps = app === undefined ? await gateway.apps() : [app];
  const lists = await Promise.all(
    apps.map((each) => gateway.call(z.array(sessionSchema), sessionsPath(each, user))),
  );
  const all = lists.flat().map(({ id, appName, lastUpdateTime }) => ({
    ...{ app: appName, user, session: id, updated: lastUpdateTime * 1_000 },
  }));
  return all.sort((a, b) => b.updated - a.updated);
}

/** Reads the whole log of a session. */
async function eventsOf(gateway: Gateway, session: GatewaySession): Promise<Event[]> {
  const events: Event[] = [];
  for (let after = 0; ; ) {
    const path = `${sessionPath(session)}/events?after=${after}&limit=${pageSize}`;
    const page = await gateway.call(pageSchema, path);
    events.push(...page.events.map(({ event }) => event));
    const last = page.events.at(-1);
    if (!last || last.seq >= page.lastSeq) return events;
    after = last.seq;
  }
}

/**
 * Reads the events of agents that were asked: an agent that is used as a tool works in a hidden session, whose
 * id is that of the call.
 */
async function askedEvents(
  gateway: Gateway,
  place: GatewaySession,
  events: readonly Event[],
): Promise<Event[]> {
  const calls = events.flatMap(({ content }) =>
    (content?.parts ?? []).flatMap(({ functionCall }) => functionCall?.id ?? []),
  );
  const asked = await Promise.all(
    calls.map(async (session) => {
      const child = { ...place, session };
      const own = await eventsOf(gateway, child).catch((error: unknown) => {
        // The call is one of a tool.
        if (MeshError.from(error).code === 'not_found') return [];
        throw error;
      });
      return [...own, ...(await askedEvents(gateway, child, own))];
    }),
  );
  return asked.flat();
}

function byTime(a: Event, b: Event): number {
  return a.timestamp - b.timestamp;
}

function summaryOf(invocation: string, events: readonly Event[]) {
  const begin = events[0]?.timestamp ?? 0;
  const error = events.findLast(({ errorCode }) => errorCode !== undefined)?.errorCode;
  return {
    invocation,
    begin: new Date(begin).toISOString(),
    durationMs: (events.at(-1)?.timestamp ?? begin) - begin,
    agents: [...new Set(events.map(({ author = '' }) => author))].filter((author) => author !== 'user'),
    tokens: events.reduce((sum, { usageMetadata }) => sum + (usageMetadata?.totalTokenCount ?? 0), 0),
    ...(error !== undefined && { error }),
  };
}

async function timeline(
  gateway: Gateway,
  place: GatewaySession,
  id: string,
  events: readonly Event[],
): Promise<Report> {
  const state = await gateway.call(
    stateSchema,
    `${sessionPath(place)}/invocations/${encodeURIComponent(id)}`,
  );
  const steps = stepsOf(events);
  const summary = summaryOf(id, events);
  const { status, llmCalls } = state;
  const head = `${id}  ${place.app}  ${place.session}  ${status}  ${seconds(summary.durationMs)}  model calls: ${llmCalls ?? '?'}  tokens: ${summary.tokens}`;
  const lines = steps.map(({ atMs, author, replica, what, note }) =>
    [`+${seconds(atMs)}`, author, replica ?? '', ...what, note].filter(Boolean).join('  '),
  );
  return { lines: [head, ...lines], json: { ...place, ...summary, status, llmCalls, steps } };
}

/** One event of a timeline. */
interface Step {
  /** The time since the first event, in ms. */
  atMs: number;
  author: string;
  replica?: string;
  what: string[];
  /** The duration of the call, the tokens, or a change of the replica. */
  note: string;
}

function stepsOf(events: readonly Event[]): Step[] {
  const begin = events[0]?.timestamp ?? 0;
  const noteOf = notesOf();
  return events.map((event) => {
    const replica = replicaOf(event);
    const text = textOf(event);
    return {
      ...{ atMs: event.timestamp - begin, author: event.author ?? '', ...(replica && { replica }) },
      what: [...(text === '' ? [] : [JSON.stringify(text)]), ...actsOf(event)],
      note: noteOf(event).join('  '),
    };
  });
}

/** Makes the function that notes durations, tokens and takeovers. It must get the events in order. */
function notesOf(): (event: Event) => string[] {
  const calledAt = new Map<string, number>();
  const replicas = new Map<string, string>();
  const durations = ({ content, timestamp }: Event) =>
    (content?.parts ?? []).flatMap(({ functionCall, functionResponse }) => {
      if (functionCall?.id) calledAt.set(functionCall.id, timestamp);
      const since = calledAt.get(functionResponse?.id ?? '');
      return functionResponse && since !== undefined ? `took ${seconds(timestamp - since)}` : [];
    });
  const takeover = (event: Event) => {
    const { author = '' } = event;
    const [before, replica] = [replicas.get(author), replicaOf(event)];
    if (replica === undefined) return [];
    replicas.set(author, replica);
    return before === undefined || before === replica ? [] : [`(another replica than ${before})`];
  };
  return (event) => {
    const tokens = event.usageMetadata?.totalTokenCount;
    return [...takeover(event), ...durations(event), ...(tokens ? [`tokens: ${tokens}`] : [])];
  };
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(3)}s`;
}
