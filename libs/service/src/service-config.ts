import { fileURLToPath } from 'node:url';
import {
  createSecretBox,
  credentialKeysVariable,
  MeshError,
  parseRedisUrl,
  versionSchema,
} from '@agentmesh/protocol';
import { z } from 'zod';
import { priceTable } from './probes/prices.ts';
import type { Config } from './read-config.ts';
import { integer, oneOf, perApp, variable } from './variable.ts';

const token = z.string().regex(/^[A-Za-z0-9_-]{1,32}$/, 'must be 1 to 32 letters, digits, _ or -');

const lowerCaseToken = z
  .string()
  .regex(/^[a-z0-9_-]{1,32}$/, 'must be 1 to 32 lower-case letters, digits, _ or -');

const natsServer = /^\s*((nats|tls|wss?):\/\/)?(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:\d{1,5})?\/?\s*$/i;

const natsServers = z
  .string()
  // Addresses are printed in logs; the user and its password have variables of their own.
  .refine((text) => !text.includes('@'), {
    message: 'must not hold a user; set MESH_NATS_USER and MESH_NATS_PASSWORD',
    abort: true,
  })
  .refine(
    (text) => text.split(',').every((server) => natsServer.test(server)),
    'must look like nats://host:4222 (tls:// for TLS), or several such with commas between',
  );

/** The variables of every service of the mesh; a service adds its own: `{ ...serviceConfig, … }`. */
export const serviceConfig = {
  namespace: variable(
    'MESH_NAMESPACE',
    'first token of all subjects, of 1 to 32 lower-case letters, digits, _ or -; one per environment',
    lowerCaseToken,
    {
      default: 'mesh',
    },
  ),
  version: variable(
    'MESH_VERSION',
    "version of the service in its card, its events, metrics and traces; default that of the program's package",
    versionSchema,
    { optional: true },
  ),
  natsUrl: variable('NATS_URL', 'address of NATS, or several with commas between them', natsServers, {
    default: 'nats://127.0.0.1:4222',
    hidden: true,
  }),
  natsUser: variable('MESH_NATS_USER', 'NATS user of this service', z.string(), { optional: true }),
  natsPassword: variable('MESH_NATS_PASSWORD', 'password of the NATS user', z.string(), {
    optional: true,
    secret: true,
  }),
  natsCaFile: variable(
    'MESH_NATS_CA_FILE',
    'file with the CA certificates, in PEM, for a NATS with TLS; unset: the certificates that Node.js trusts',
    z.string(),
    { optional: true },
  ),
  natsCertFile: variable(
    'MESH_NATS_CERT_FILE',
    'file with the certificate, in PEM, that the service presents to a NATS with TLS',
    z.string(),
    { optional: true },
  ),
  natsKeyFile: variable('MESH_NATS_KEY_FILE', 'file with the key of this certificate, in PEM', z.string(), {
    optional: true,
  }),
  natsCreds: variable(
    'MESH_NATS_CREDS',
    'file with the NATS credentials of this service, instead of a user and a password; read for each connection',
    z.string(),
    { optional: true },
  ),
  redisUrl: variable(
    'REDIS_URL',
    'address of Redis, with user and password if it has them; forms for a cluster and Sentinels: see below',
    z.string().superRefine(refusing(parseRedisUrl)),
    { default: 'redis://127.0.0.1:6379', secret: true },
  ),
  redisCaFile: variable(
    'MESH_REDIS_CA_FILE',
    'file with the CA certificates, in PEM, for a Redis with TLS; unset: the certificates that Node.js trusts',
    z.string(),
    { optional: true },
  ),
  redisWaitReplicas: variable(
    'MESH_REDIS_WAIT_REPLICAS',
    'number of Redis replicas that must have a write before it counts as done, at most 5; 0: do not wait',
    integer(0, 5),
    { default: '0' },
  ),
  redisPrefix: variable(
    'MESH_REDIS_PREFIX',
    'first part of all Redis keys; default am in the namespace mesh, am-<namespace> in other namespaces',
    token,
    { optional: true },
  ),
  credentialKeys: variable(
    credentialKeysVariable,
    "keys that encrypt people's credentials, for keepers alone; other services ask keepers; see docs/credentials.md",
    z.string().superRefine(refusing(createSecretBox)),
    { optional: true, secret: true },
  ),
  memoryDays: variable(
    'MESH_MEMORY_DAYS',
    'time that memories of users are kept, in days; default unlimited',
    integer(1, 36_500),
    { optional: true },
  ),
  memoryEmbeddingModel: variable(
    'MESH_MEMORY_EMBEDDING_MODEL',
    'embedding model that finds memories by meaning as well as by words; default: words only; see docs/memory.md',
    z.string(),
    { optional: true },
  ),
  artifacts: variable(
    'MESH_ARTIFACTS',
    'storage of artifacts: nats, or the file: address of a folder that all processes share',
    z
      .string()
      .refine(isArtifactPlace, 'must be nats, or the address of a folder such as file:///var/lib/artifacts'),
    { default: 'nats' },
  ),
  logLevel: variable(
    'MESH_LOG_LEVEL',
    'lowest level that is logged: trace, debug, info, warn, error, fatal or silent',
    oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    { default: 'info' },
  ),
  logFormat: variable('MESH_LOG_FORMAT', 'json for machines, text for people', oneOf('json', 'text'), {
    default: 'json',
  }),
  healthPort: variable(
    'MESH_HEALTH_PORT',
    'port of /livez, /readyz and /metrics; empty: no port; 0: any free port',
    integer(0, 65_535),
    { optional: true },
  ),
  healthHost: variable(
    'MESH_HEALTH_HOST',
    'address that this port listens on; 0.0.0.0 in a pod',
    z.string(),
    { default: '127.0.0.1' },
  ),
  metrics: variable(
    'MESH_METRICS',
    'on: metrics for Prometheus at /metrics; otlp: they are also sent to OTEL_EXPORTER_OTLP_ENDPOINT; off: none; see docs/metrics.md',
    oneOf('on', 'otlp', 'off'),
    { default: 'on' },
  ),
  prices: variable(
    'MESH_PRICES',
    'prices of models for the metric of costs, per million tokens: <model>=<input>/<output>/<cached input>, with commas between models; see docs/metrics.md',
    priceTable,
    { optional: true },
  ),
  traces: variable(
    'MESH_TRACES',
    'traces of the work: off, or otlp: sends spans to OTEL_EXPORTER_OTLP_ENDPOINT; see docs/traces.md',
    oneOf('off', 'otlp'),
    { default: 'off' },
  ),
  traceContent: variable(
    'MESH_TRACE_CONTENT',
    'whether spans hold prompts, answers, arguments and results, which may be personal data: 0 or 1',
    oneOf('0', '1'),
    { default: '0' },
  ),
  traceRedact: variable(
    'MESH_TRACE_REDACT',
    'regular expression of further parts that spans never hold, such as names of customers; see docs/traces.md',
    z.string().transform(toRegExp),
    { optional: true },
  ),
  sessionCacheMb: variable(
    'MESH_SESSION_CACHE_MB',
    'memory for the events of sessions that are kept between turns, in MiB; 0: none',
    integer(0, 1_000_000),
    { default: '64' },
  ),
  sessionDays: variable(
    'MESH_SESSION_DAYS',
    'time that a session is kept after its last event, in days; by app: shop=30,*=365; empty: unlimited',
    perApp(1, 100_000),
    { optional: true },
  ),
  sessionMaxEvents: variable(
    'MESH_SESSION_MAX_EVENTS',
    'number of last events of a session that are kept, at least 100; by app as above; empty: all',
    perApp(100, 1_000_000_000),
    { optional: true },
  ),
  maxConcurrency: variable(
    'MESH_MAX_CONCURRENCY',
    'number of runs or calls that one replica works on at once',
    integer(1, 10_000),
    { default: '16' },
  ),
  runsPerUser: variable(
    'MESH_RUNS_PER_USER',
    'number of runs of one user of an app that are at work at once, over all replicas; by app as above; default 8',
    perApp(1, 100_000),
    { optional: true },
  ),
  waitingRunsPerUser: variable(
    'MESH_WAITING_RUNS_PER_USER',
    'number of runs of one user of an app that may wait; by app as above; default 1000',
    perApp(1, 1_000_000),
    { optional: true },
  ),
  graceMs: variable(
    'MESH_GRACE_MS',
    'longest time from SIGTERM to the end of the process, in ms',
    integer(0, 3_600_000),
    { default: '25000' },
  ),
};

/**
 * Tells whether the text names a place for artifacts. A file address has three slashes: after two slashes
 * comes the name of a host.
 */
function isArtifactPlace(text: string): boolean {
  if (text === 'nats') return true;
  if (!text.startsWith('file:///')) return false;
  try {
    fileURLToPath(text);
    return true;
  } catch {
    return false;
  }
}

/** Reads a regular expression for a search of all its places. */
function toRegExp(text: string, context: z.RefinementCtx): RegExp {
  try {
    const found = new RegExp(text, 'gu');
    if (!''.match(found)) return found;
    context.addIssue({ code: 'custom', message: 'must not fit an empty text' });
  } catch {
    context.addIssue({ code: 'custom', message: 'must be a regular expression of JavaScript' });
  }
  return z.NEVER;
}

/** Returns a check that refuses a text with the error that `read` throws for it. */
function refusing(read: (text: string) => unknown) {
  return (text: string, context: z.RefinementCtx): void => {
    try {
      read(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: problemOf(error) });
    }
  };
}

/** Returns an error's message without the name of its variable, which readConfig adds. */
function problemOf(error: unknown): string {
  return MeshError.from(error)
    .message.replace(/^the url of redis /, '')
    .replace(`${credentialKeysVariable} `, '');
}

export type ServiceConfig = Config<typeof serviceConfig>;
