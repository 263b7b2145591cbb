import type { Event } from '@agentmesh/protocol';
import { type ContractRequest, requests, type Seen } from './requests.ts';
import { type Difference, differences, type Shape, shapeOf } from './shapes.ts';

/** A difference between the answers of both servers to a request. */
export interface FoundDifference extends Difference {
  request: string;
}

/**
 * Sends the requests to the gateway and to ADK's server, and compares the shapes of the answers. Differences
 * of all errors and of all events are returned once.
 */
export async function compareServers(gatewayUrl: string, adkUrl: string): Promise<FoundDifference[]> {
  const [ours, adk] = [await answersOf(gatewayUrl), await answersOf(adkUrl)];
  const found = requests.flatMap(({ name }) => {
    const [mine = new Map(), other = new Map()] = [ours.get(name), adk.get(name)];
    const isError = Number(mine.get('status')) >= 400;
    return differences(mine, other).map((difference) => inGeneral(name, difference, isError));
  });
  const once = new Map(found.map((difference) => [keyOf(difference), difference]));
  return [...once.values()];
}

/** Returns the identity of a difference: its request and its place. */
export function keyOf({ request, at }: Pick<FoundDifference, 'request' | 'at'>): string {
  return `${request}: ${at}`;
}

/** Names a difference that does not depend on the request by the kind of its answer. */
function inGeneral(request: string, difference: Difference, isError: boolean): FoundDifference {
  const { at } = difference;
  if (isError && at.startsWith('body.')) return { request: 'any error', ...difference };
  const [, ofSpan] = /^body(?:\[\]\.attributes)?\.(gen_ai\..*)$/.exec(at) ?? [];
  if (ofSpan !== undefined) return { request: 'any span', ...difference, at: ofSpan };
  const [, ofEvent] = eventPart.exec(at) ?? [];
  if (ofEvent !== undefined) return { request: 'any event', ...difference, at: ofEvent };
  return { request, ...difference };
}

/** The path of a part of an event, in a list of events or in a session. */
const eventPart = /^body(?:\.events)?\[\]\.((?:actions|customMetadata|modelVersion|partial)\b.*)$/;

async function answersOf(url: string): Promise<Map<string, Shape>> {
  const shapes = new Map<string, Shape>();
  const seen: Seen = { eventId: '' };
  for (const request of requests) {
    const { shape, body } = await shapeOf(await send(url, request, seen));
    shapes.set(request.name, shape);
    if (request.name === 'a run' && Array.isArray(body)) seen.eventId = (body as Event[])[0]?.id ?? '';
  }
  return shapes;
}

async function send(url: string, { method = 'GET', path, body }: ContractRequest, seen: Seen) {
  return await fetch(`${url}${typeof path === 'string' ? path : path(seen)}`, {
    method,
    headers: {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
}
