import { writeFile } from 'node:fs/promises';
import { launchMesh } from './launch.ts';
import { printLogLine } from './print.ts';

const gatewayPort = Number(process.env.MESH_HTTP_PORT ?? 8000);

/** Keeps the mesh running until Ctrl-C. Its data stays in `.mesh`, so that the next start finds the sessions again. */
async function main(): Promise<void> {
  const folder = process.env.MESH_DATA_DIR ?? new URL('../../.mesh', import.meta.url).pathname;
  const stop = Promise.withResolvers<void>();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.resolve());
  await using mesh = await launchMesh({ gatewayPort, dataDir: `${folder}/data`, onLine: printLogLine });
  const { user = '', pass = '' } = mesh.login('client');
  const clientEnv = `NATS_URL=${mesh.natsUrl}\nNATS_USER=${user}\nNATS_PASSWORD=${pass}\n`;
  await writeFile(`${folder}/client.env`, clientEnv, { mode: 0o600 });
  console.log(`
The mesh is running: ${mesh.processes.length} services and a gateway, each a process of its own.

  REST     ${mesh.gatewayUrl}
  NATS     ${mesh.natsUrl}   (how a program of yours logs in: .mesh/client.env)
  Redis    ${mesh.redisUrl}

Ctrl-C stops it. Its sessions stay in .mesh/data.
`);
  await stop.promise;
  console.log('stopping …');
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
