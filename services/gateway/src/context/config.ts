import { type Config, integer, oneOf, serviceConfig, variable } from '@agentmesh/service';
import { z } from 'zod';

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]+$/, 'must be the name of a header: letters, digits and -')
  .transform((name) => name.toLowerCase()) as z.ZodType<string, string>;

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
  personHeader: variable(
    'MESH_HTTP_PERSON_HEADER',
    'header in which the proxy before the gateway names the person who sends a request; the proxy must remove it from requests of clients; default: the person is the user of the request',
    headerName,
    { optional: true },
  ),
  rolesHeader: variable(
    'MESH_HTTP_ROLES_HEADER',
    'header in which the same proxy lists the roles of this person, with commas between them; default: nobody has roles',
    headerName,
    { optional: true },
  ),
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
