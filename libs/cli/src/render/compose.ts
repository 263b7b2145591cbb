import { natsPasswordVariable, natsUserOf, provisionUser, redisPasswordVariable } from '@agentmesh/mesh';
import type { DeployedService } from './deployed-service.ts';

/** An image of a Compose file, and how it is built. */
export interface ComposeImage {
  image: string;
  /** The YAML of its build, in one line. */
  build: string;
}

export interface ComposeOptions {
  /** The comment of the first lines. */
  head: string;
  /** The name of the Compose project. */
  project: string;
  namespace: string;
  /** The file in which people set passwords and keys, for messages. */
  envFile: string;
  /** The gateway and all agents and tools, each with the build of its image. */
  services: readonly (DeployedService & Pick<ComposeImage, 'build'>)[];
  provision: ComposeImage & { command: readonly string[] };
}

/** Returns the Compose file of a mesh: NATS, Redis, the provisioning step, and a container for each service. */
export function composeFile(options: ComposeOptions): string {
  const { head, project, namespace, services, provision } = options;
  const required = (variable: string) => `\${${variable}:?set it in ${options.envFile}}`;
  const agents = services.filter(({ manifest }) => manifest.kind === 'agent');
  const others = services.filter(({ manifest }) => manifest.kind !== 'gateway');
  const inRedis = others.filter(({ isPython }) => !isPython);
  const passwords = (variableOf: (user: string) => string, among = others) =>
    among.map(({ user }) => `      ${variableOf(user)}: ${required(variableOf(user))}\n`).join('');
  return `${head}name: ${project}

x-service: &service
  restart: unless-stopped
  # More than MESH_GRACE_MS, so that the service ends by itself.
  stop_grace_period: 35s
  read_only: true
  cap_drop: [ALL]
  security_opt: ["no-new-privileges:true"]
  networks: [services]
  healthcheck:
    test:
      - CMD
      - node
      - -e
      - "fetch('http://127.0.0.1:8081/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"
    interval: 5s
    timeout: 3s
    retries: 6
    start_period: 20s
  depends_on:
    redis: { condition: service_healthy }
    nats: { condition: service_healthy }
    provision: { condition: service_completed_successfully }

x-env: &env
  NATS_URL: nats://nats:4222
  MESH_NAMESPACE: ${namespace}
  MESH_LOG_LEVEL: \${LOG_LEVEL:-info}
  MESH_HEALTH_HOST: 127.0.0.1
  MESH_HEALTH_PORT: "8081"
  MESH_GRACE_MS: "25000"
${agents.length === 0 ? '' : agentEnvironment(required('GEMINI_API_KEY'))}
services:
  nats:
    image: nats:2.12-alpine
    command: ["-c", "/etc/nats/nats-server.conf", "-js", "-sd", "/data", "-m", "8222"]
    restart: unless-stopped
    networks: [gateway, services]
    # Accounts, users and their subjects. The passwords come from the environment below.
    volumes:
      - ./nats/nats-server.conf:/etc/nats/nats-server.conf:ro
      - nats-data:/data
    environment:
      # Fewer collections of garbage: a message costs less, and the server takes more memory.
      GOGC: "400"
      NATS_PASSWORD_PROVISION: ${required('NATS_PASSWORD_PROVISION')}
      NATS_PASSWORD_GATEWAY: ${required('NATS_PASSWORD_GATEWAY')}
      # For programs that are not services of ours.
      NATS_PASSWORD_CLIENT: ${required('NATS_PASSWORD_CLIENT')}
${passwords(natsPasswordVariable)}    healthcheck:
      test: ["CMD", "wget", "-qO-", "http://127.0.0.1:8222/healthz"]
      interval: 5s
      timeout: 3s
      retries: 6
    stop_grace_period: 40s

  redis:
    image: redis:7.4-alpine
    # The users with the hashes of their passwords lie in memory: /dev/shm, because before runc 1.1.8 a tmpfs of our own
    # belongs to root alone when the container starts again.
    # Sessions are facts: appended to a file, synced each second, and never evicted.
    command:
      - /etc/redis/start.sh
      - /etc/redis/users.acl
      - /dev/shm
      - --appendonly
      - "yes"
      - --appendfsync
      - everysec
      - --maxmemory-policy
      - noeviction
    restart: unless-stopped
    networks: [gateway, services]
    # The image drops root only when its command is redis-server.
    user: redis
    volumes:
      - redis-data:/data
      - ./redis/start.sh:/etc/redis/start.sh:ro
      - ./redis/users.acl:/etc/redis/users.acl:ro
    environment:
      REDISCLI_AUTH: ${required('REDIS_PASSWORD_PROVISION')}
      REDIS_PASSWORD_PROVISION: ${required('REDIS_PASSWORD_PROVISION')}
      REDIS_PASSWORD_GATEWAY: ${required('REDIS_PASSWORD_GATEWAY')}
${passwords(redisPasswordVariable, inRedis)}    healthcheck:
      test: ["CMD-SHELL", "redis-cli --user provision ping | grep -q PONG"]
      interval: 5s
      timeout: 3s
      retries: 6

  # Makes the streams, consumers and buckets, loads the functions of Redis, and ends.
  provision:
    image: ${provision.image}:\${TAG:-dev}
    build: ${provision.build}
    command: ${JSON.stringify(provision.command)}
    restart: "no"
    networks: [services]
    read_only: true
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
    depends_on:
      nats: { condition: service_healthy }
      redis: { condition: service_healthy }
    environment:
      NATS_URL: nats://nats:4222
      REDIS_URL: redis://provision:${required('REDIS_PASSWORD_PROVISION')}@redis:6379
      MESH_NAMESPACE: ${namespace}
      MESH_NATS_USER: ${natsUserOf(provisionUser, namespace)}
      MESH_NATS_PASSWORD: ${required('NATS_PASSWORD_PROVISION')}

${services.map((service) => serviceBlock(service, { required, namespace })).join('\n')}
# Agents and tools do not reach the port of the gateway, and listen on no port themselves: all that they say to others
# goes through NATS.
networks:
  gateway:
  services:

volumes:
  nats-data:
  redis-data:
`;
}

function agentEnvironment(key: string): string {
  return `
# The key of the models; agents alone have it.
x-agent-env: &agent-env
  <<: *env
  GEMINI_API_KEY: ${key}
`;
}

/** Other containers reach the gateway, so its callers need API keys. */
const gatewayEnvironment = [
  '      MESH_HTTP_HOST: 0.0.0.0',
  '      MESH_HTTP_PORT: "8000"',
  '      MESH_HTTP_AUTH: keys',
];

/** The facts of a Compose file that the block of each service needs. */
interface BlockContext {
  namespace: string;
  /** Returns a variable that must be set. */
  required: (variable: string) => string;
}

function serviceBlock(
  service: ComposeOptions['services'][number],
  { required, namespace }: BlockContext,
): string {
  if (service.isPython) return pythonBlock(service, { required, namespace });
  const { name, user, manifest, image, build, args } = service;
  const [isGateway, isKeeper] = [manifest.kind === 'gateway', manifest.kind === 'keeper'];
  const lines = [
    `  ${name}:`,
    '    <<: *service',
    `    image: ${image}:\${TAG:-dev}`,
    `    build: ${build}`,
    ...(args === undefined ? [] : [`    command: ${JSON.stringify(args)}`]),
    ...(isGateway ? ['    ports: ["${GATEWAY_BIND:-127.0.0.1}:8000:8000"]', '    networks: [gateway]'] : []),
    '    environment:',
    `      <<: *${manifest.kind === 'agent' ? 'agent-env' : 'env'}`,
    ...(isGateway ? gatewayEnvironment : []),
    ...(isKeeper ? [`      CREDENTIAL_KEYS: ${required('CREDENTIAL_KEYS')}`] : []),
    `      MESH_NATS_USER: ${natsUserOf(user, namespace)}`,
    `      MESH_NATS_PASSWORD: ${required(natsPasswordVariable(user))}`,
    `      REDIS_URL: redis://${encodeURIComponent(user)}:${required(redisPasswordVariable(user))}@redis:6379`,
  ];
  return `${lines.join('\n')}\n`;
}

/** Returns the block of a tool in Python, which gets nothing but its login to NATS. */
function pythonBlock(
  { name, user, image, build, args }: ComposeOptions['services'][number],
  { required, namespace }: BlockContext,
): string {
  return `  ${name}:
    <<: *service
    image: ${image}:\${TAG:-dev}
    build: ${build}
    command: ${JSON.stringify(args)}
    # It has no HTTP server, and connects again by itself.
    healthcheck: { disable: true }
    environment:
      NATS_URL: nats://nats:4222
      MESH_NAMESPACE: ${namespace}
      MESH_NATS_USER: ${natsUserOf(user, namespace)}
      MESH_NATS_PASSWORD: ${required(natsPasswordVariable(user))}
`;
}

/** Returns the variables that a Compose file with these services needs. */
export function composeVariables(services: readonly DeployedService[]): string[] {
  const inRedis = services.filter(({ isPython }) => !isPython);
  const users = [provisionUser, ...services.map(({ user }) => user)];
  return [
    ...[...users, 'client'].map(natsPasswordVariable),
    ...[provisionUser, ...inRedis.map(({ user }) => user)].map(redisPasswordVariable),
    ...(services.some(({ manifest }) => manifest.kind === 'keeper') ? ['CREDENTIAL_KEYS'] : []),
    ...(services.some(({ manifest }) => manifest.kind === 'agent') ? ['GEMINI_API_KEY'] : []),
  ];
}
