import { type Config, integer, oneOf, serviceConfig, variable } from '@agentmesh/service';
import { z } from 'zod';
import { accessConfig } from './access-config.ts';
import { limitConfig } from './limit-config.ts';
import { quotaConfig } from './quota-config.ts';

/** The gateway's own variables. */
export const gatewayConfig = {
  httpPort: variable('MESH_HTTP_PORT', 'port of the REST interface; 0: any free port', integer(0, 65_535), {
    default: '8000',
  }),
  httpHost: variable(
    'MESH_HTTP_HOST',
    'address the REST interface listens on; 0.0.0.0 in a pod',
    z.string(),
    {
      default: '127.0.0.1',
    },
  ),
  httpCertFile: variable(
    'MESH_HTTP_CERT_FILE',
    'file with the certificate and its chain, in PEM: the REST interface is served with HTTPS',
    z.string(),
    { optional: true },
  ),
  httpKeyFile: variable('MESH_HTTP_KEY_FILE', 'file with the key of this certificate, in PEM', z.string(), {
    optional: true,
  }),
  allowedHosts: variable(
    'MESH_HTTP_ALLOWED_HOSTS',
    'host names that requests may use besides those of this machine, with commas between them; *: any; default *, or none when only this machine reaches the gateway',
    z.string().transform((text) => text.split(',').map((name) => name.trim().toLowerCase())) as z.ZodType<
      string[],
      string
    >,
    { optional: true },
  ),
  requestTimeoutMs: variable(
    'MESH_REQUEST_TIMEOUT_MS',
    'longest time until a request with its body has arrived, uploads included, in ms',
    integer(1_000, 86_400_000),
    { default: '300000' },
  ),
  runTimeoutMs: variable('MESH_RUN_TIMEOUT_MS', 'longest time of one run, in ms', integer(1, 86_400_000), {
    default: '600000',
  }),
  unreadMs: variable(
    'MESH_UNREAD_MS',
    'longest time that a client may leave a stream of events unread, in ms; then the gateway disconnects it, and it may come back',
    integer(1, 3_600_000),
    { default: '30000' },
  ),
  whenAbsent: variable(
    'MESH_WHEN_ABSENT',
    'behaviour when no replica of the agent is up: reject with 503 at once, or enqueue and wait (agents that scale to zero)',
    oneOf('reject', 'enqueue'),
    { default: 'reject' },
  ),
  adkWeb: variable(
    'MESH_ADK_WEB',
    "serves ADK's web UI at /dev-ui/: 1 for that of the installed package @google/adk-devtools, or the folder of its files",
    z.string().min(1),
    { optional: true },
  ),
  console: variable(
    'MESH_CONSOLE',
    'whether the console, a page for operators, is served at /console: on or off',
    oneOf('on', 'off'),
    { default: 'on' },
  ),
  stopOnDisconnect: variable(
    'MESH_STOP_ON_DISCONNECT',
    "whether a run of /run_sse is cancelled when its client leaves, as on ADK's server; a request may say otherwise (?stop_on_disconnect=)",
    oneOf('true', 'false'),
    { default: 'false' },
  ),
  ...accessConfig,
  ...limitConfig,
  ...quotaConfig,
  uploadLimit: variable(
    'MESH_UPLOAD_LIMIT',
    'largest artifact that may be uploaded as bytes, in bytes',
    integer(1_024, 1_099_511_627_776),
    { default: '1073741824' },
  ),
  bodyLimit: variable(
    'MESH_BODY_LIMIT',
    'largest request body, in bytes; at most 104857600 (100 MiB)',
    integer(1_024, 104_857_600),
    {
      default: '10485760',
    },
  ),
};

const all = { ...serviceConfig, ...gatewayConfig };
export type GatewayConfig = Config<typeof all>;
