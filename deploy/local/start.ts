import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { natsVersion } from '@agentmesh/bus';
import { describeNats, lockFolder, watchOrphans } from '@agentmesh/cli/local';
import { gatewayConfig } from '@agentmesh/gateway/config';
import { provisionUser } from '@agentmesh/mesh';
import type { LocalMesh } from './launch.ts';
import { chooseModel } from './model-choice.ts';
import { logPrinter } from './print.ts';
import type { Sample } from './samples.ts';
import { listTargets } from './scrape-targets.ts';

/** Runs the mesh until Ctrl-C. Its data stays, so that the next start finds the sessions again. */
async function main(signal: AbortSignal): Promise<void> {
  const gatewayPort = readPort();
  const { model, notice } = chooseModel(process.env, { isDemo: false });
  if (notice) console.log(notice);
  const folder = process.env.MESH_DATA_DIR || new URL('../../.mesh', import.meta.url).pathname;
  await using _lock = await lockFolder(folder);
  await assertFree(gatewayPort);
  // Imported here, so that an agent that cannot be read is reported in one line.
  const [{ launchMesh }, { missingServices, samples }] = await Promise.all([
    import('./launch.ts'),
    import('./samples.ts'),
  ]);
  const printer = logPrinter();
  const noteTarget = listTargets(`${folder}/targets.json`);
  const say = (text: string) => console.log(`  ${text}`);
  await using mesh = await launchMesh({
    gatewayPort,
    dataDir: `${folder}/data`,
    model,
    onLine(service, line) {
      noteTarget(service, line);
      printer.onLine(service, line);
    },
    restarts: true,
    joinable: true,
    say,
    signal,
  });
  const { credsFile } = mesh.login('client');
  // On foreign servers the missing service may run elsewhere.
  if (credsFile) for (const sentence of missingServices(samples)) console.log(`  warn ${sentence}`);
  const known = () => samples.map(({ manifest }) => manifest.name);
  const address = { url: mesh.natsUrl, ...mesh.login(provisionUser) };
  say(describeNats(await natsVersion(address)));
  await using _orphans = watchOrphans({ address, known, say, signal });
  // Uses the variables of services, and the variables of the `nats` program.
  const clientEnv = [
    `NATS_URL=${mesh.natsUrl}`,
    ...(credsFile ? ['MESH_NATS_CREDS', 'NATS_CREDS'].map((name) => `${name}=${credsFile}`) : []),
    '',
  ].join('\n');
  await writeFile(`${folder}/client.env`, clientEnv, { mode: 0o600 });
  const operator = mesh.login(provisionUser);
  const operatorEnv = [
    `NATS_URL=${mesh.natsUrl}`,
    `REDIS_URL=${mesh.redisUrlOf(provisionUser)}`,
    `MESH_GATEWAY_URL=${mesh.gatewayUrl}`,
    ...(operator.credsFile === undefined ? [] : [`MESH_NATS_CREDS=${operator.credsFile}`]),
    ...(mesh.keys === undefined ? [] : [`MESH_KEYS=${mesh.keys}`]),
    '',
  ].join('\n');
  await writeFile(`${folder}/operator.env`, operatorEnv, { mode: 0o600 });
  // redis-cli wants the name of the user.
  const adminUrl = mesh.redisUrl.replace('//:', '//default:');
  // The operator of the mesh may not change the settings and the users of Redis.
  await writeFile(`${folder}/admin.env`, `REDIS_ADMIN_URL=${adminUrl}\n`, { mode: 0o600 });
  console.log(`
The mesh is running: ${mesh.processes.length} services and a gateway, each a process of its own.

  REST     ${mesh.gatewayUrl}${process.env.MESH_CONSOLE === 'off' ? '' : `\n  console  ${mesh.gatewayUrl}/console`}${process.env.MESH_ADK_WEB ? `\n  web UI   ${mesh.gatewayUrl}/dev-ui/` : ''}
  NATS     ${mesh.natsUrl}   (how a program of yours logs in: ${folder}/client.env; an operator: ${folder}/operator.env)
  Redis    ${withoutPassword(mesh.redisUrl)}   (with all rights: ${folder}/admin.env)
  apps     ${samples
    .flatMap(({ manifest }) => manifest.app ?? [])
    .sort()
    .join(', ')}
  models   ${modelsOf(mesh, samples, printer.scripted)}
  logs     ${logsOf(process.env)}

Ctrl-C stops it. Its sessions stay in ${folder}/data.
`);
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve());
  });
  console.log('stopping …');
}

function readPort(): number {
  const result = gatewayConfig.httpPort.read(process.env.MESH_HTTP_PORT);
  if ('value' in result) return result.value;
  throw new Error(`MESH_HTTP_PORT ${result.problem}`);
}

/** Describes which agents use a model, and which a script. */
function modelsOf(
  { processes }: LocalMesh,
  samples: readonly Sample[],
  scripted: ReadonlySet<string>,
): string {
  if (scripted.size === 0) return 'those of the agents';
  const agents = new Set(samples.flatMap(({ manifest: { kind, name } }) => (kind === 'agent' ? name : [])));
  const others = processes.map(({ name }) => name).filter((name) => agents.has(name) && !scripted.has(name));
  const words = `scripts answer for ${[...scripted].sort().join(', ')}`;
  return others.length === 0 ? words : `${words}; models of their own for ${others.join(', ')}`;
}

/** Returns the line of the banner about the services' logs in this terminal. */
function logsOf({ MESH_LOG_LEVEL: level, MESH_LOG_FORMAT: format }: NodeJS.ProcessEnv): string {
  if (level || format) return `from level ${level || 'info'} on, as ${format || 'text'}`;
  return 'warnings and errors in short; MESH_LOG_LEVEL=info npm start prints each run, and the stacks of errors';
}

function withoutPassword(url: string): string {
  return url.replace(/\/\/[^@/]*@/, '//');
}

/** Checks the port before anything is started, because the gateway would be the last to notice. */
async function assertFree(port: number): Promise<void> {
  const probe = createServer();
  try {
    await new Promise<void>((resolve, reject) =>
      probe.once('error', reject).listen(port, '127.0.0.1', resolve),
    );
  } catch (cause) {
    throw new Error(`port ${port} is taken: set MESH_HTTP_PORT to another port`, { cause });
  } finally {
    await new Promise((resolve) => probe.close(resolve));
  }
}

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
try {
  await main(stop.signal);
} catch (error) {
  if (!stop.signal.aborted) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
