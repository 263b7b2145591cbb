import { integer, perApp, variable } from '@agentmesh/service';
import { z } from 'zod';

const mostRequests = 1_000_000;
const mostOpen = 100_000;
const everywhere = 'over all gateways; empty: unlimited';
const byApp = `${everywhere}; a number, or numbers by app: shop=30,*=100`;

/** The variables that limit the requests of callers, of users and of apps. */
export const limitConfig = {
  requestsPerMinute: variable(
    'MESH_HTTP_REQUESTS_PER_MINUTE',
    'number of requests of one caller in a minute, over all gateways; more get 429; empty: unlimited',
    integer(1, mostRequests),
    { optional: true },
  ),
  userRequestsPerMinute: variable(
    'MESH_HTTP_USER_REQUESTS_PER_MINUTE',
    `number of requests for one user in a minute, of all callers, ${everywhere}`,
    integer(1, mostRequests),
    { optional: true },
  ),
  appRequestsPerMinute: variable(
    'MESH_HTTP_APP_REQUESTS_PER_MINUTE',
    `number of requests for one app in a minute, of all callers, ${byApp}`,
    perApp(1, mostRequests),
    { optional: true },
  ),
  streamsPerCaller: variable(
    'MESH_HTTP_STREAMS_PER_CALLER',
    `number of runs and streams of one caller that are open at once, ${everywhere}`,
    integer(1, mostOpen),
    { optional: true },
  ),
  streamsPerUser: variable(
    'MESH_HTTP_STREAMS_PER_USER',
    `number of runs and streams of one user that are open at once, ${everywhere}`,
    integer(1, mostOpen),
    { optional: true },
  ),
  streamsPerApp: variable(
    'MESH_HTTP_STREAMS_PER_APP',
    `number of runs and streams of one app that are open at once, ${byApp}`,
    perApp(1, mostOpen),
    { optional: true },
  ),
  maxStreams: variable(
    'MESH_HTTP_STREAMS',
    'number of runs and streams that are open at once at one gateway',
    integer(1, 1_000_000),
    { default: '10000' },
  ),
  maxConnections: variable(
    'MESH_HTTP_CONNECTIONS',
    'number of connections of one gateway; further ones are closed at once; empty: unlimited',
    integer(1, 1_000_000),
    { optional: true },
  ),
  unreadBytes: variable(
    'MESH_HTTP_UNREAD_BYTES',
    'bytes of large answers that clients have not read yet, at one gateway; further large answers get 429',
    integer(1_048_576, 17_179_869_184),
    { default: '50331648' },
  ),
  corsOrigins: variable(
    'MESH_HTTP_CORS_ORIGINS',
    'origins of the pages of browsers that may call the gateway, with commas between them: https://chat.example; *: all; default none',
    originList(),
    { optional: true },
  ),
};

function originList(): z.ZodType<string[], string> {
  return z.string().transform((text, context) => {
    const origins = text.split(',').map((each) => each.trim());
    if (origins.every((each) => each === '*' || isOrigin(each))) return origins;
    context.addIssue({
      code: 'custom',
      message: 'must be a list of origins such as https://chat.example, or *',
    });
    return z.NEVER;
  });
}

function isOrigin(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text;
}
