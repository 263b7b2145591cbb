import { createSecretBox, credentialKeysVariable, MeshError } from '@agentmesh/protocol';
import { z } from 'zod';
import type { Config } from './config.ts';
import { integer, oneOf, variable } from './variable.ts';

const token = z.string().regex(/^[A-Za-z0-9_-]{1,32}$/, 'must be 1 to 32 letters, digits, _ or -');

const lowerCaseToken = z
  .string()
  .regex(/^[a-z0-9_-]{1,32}$/, 'must be 1 to 32 lower-case letters, digits, _ or -');

const natsServers = z
  .string()
  .regex(/^[^\s,]+(\s*,\s*[^\s,]+)*$/, 'must be a server address, or several with commas between')
  // Addresses are printed in logs; the user and its password have variables of their own.
  .refine((text) => !text.includes('@'), 'must not hold a user; set MESH_NATS_USER and MESH_NATS_PASSWORD');

/** What every service of the mesh is configured by; a service adds its own: `{ ...serviceConfig, … }`. */
export const serviceConfig = {
  namespace: variable('MESH_NAMESPACE', 'first token of all subjects; one per environment', lowerCaseToken, {
    default: 'mesh',
  }),
  natsUrl: variable('NATS_URL', 'address of NATS; several with commas between', natsServers, {
    default: 'nats://127.0.0.1:4222',
  }),
  natsUser: variable('MESH_NATS_USER', 'NATS user of this service', z.string(), { optional: true }),
  natsPassword: variable('MESH_NATS_PASSWORD', 'password of the NATS user', z.string(), {
    optional: true,
    secret: true,
  }),
  redisUrl: variable(
    'REDIS_URL',
    'address of Redis, with its user and password if it has them',
    z.url({ protocol: /^rediss?$/, error: 'must be an address such as redis://host:6379' }),
    { default: 'redis://127.0.0.1:6379', secret: true },
  ),
  redisPrefix: variable(
    'MESH_REDIS_PREFIX',
    'first part of all Redis keys; default am, in another namespace than mesh am-<namespace>',
    token,
    { optional: true },
  ),
  credentialKeys: variable(
    credentialKeysVariable,
    "keys that seal people's credentials; see docs/credentials.md",
    z.string().superRefine((text, context) => {
      try {
        createSecretBox(text);
      } catch (error) {
        context.addIssue({ code: 'custom', message: problemOf(error) });
      }
    }),
    { optional: true, secret: true },
  ),
  artifacts: variable(
    'MESH_ARTIFACTS',
    'where artifacts are kept: nats, or the file: address of a folder that all processes share',
    z.union([z.literal('nats'), z.url({ protocol: /^file$/ })], {
      error: 'must be nats, or an address such as file:///var/lib/artifacts',
    }),
    { default: 'nats' },
  ),
  logLevel: variable(
    'MESH_LOG_LEVEL',
    'least level that is logged: trace, debug, info, warn, error, fatal or silent',
    oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    { default: 'info' },
  ),
  logFormat: variable('MESH_LOG_FORMAT', 'json for machines, text for people', oneOf('json', 'text'), {
    default: 'json',
  }),
  healthPort: variable(
    'MESH_HEALTH_PORT',
    'port of /livez and /readyz; empty: none, 0: any free one',
    integer(0, 65_535),
    { optional: true },
  ),
  healthHost: variable(
    'MESH_HEALTH_HOST',
    'address that /livez and /readyz listen on; 0.0.0.0 in a pod',
    z.string(),
    { default: '127.0.0.1' },
  ),
  maxConcurrency: variable(
    'MESH_MAX_CONCURRENCY',
    'runs or calls that one replica works on at once',
    integer(1, 10_000),
    { default: '16' },
  ),
  graceMs: variable(
    'MESH_GRACE_MS',
    'longest time from SIGTERM to the end of the process, in ms',
    integer(0, 3_600_000),
    { default: '25000' },
  ),
};

/** The reader of the configuration names the variable itself. */
function problemOf(error: unknown): string {
  return MeshError.from(error).message.replace(`${credentialKeysVariable} `, '');
}

export type ServiceConfig = Config<typeof serviceConfig>;
