import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { type Sample, samples } from '@agentmesh/deploy/samples';
import { agentManifest, provisionUser } from '@agentmesh/mesh';
import { Redis } from 'ioredis';
import { type Disk, mountDisk } from '../../libs/cli/src/inspect/disk.fixture.ts';
import { loginVariables } from '../nats-login.ts';
import { restClient } from '../rest-client.ts';
import { drillApp } from './agent/src/agent.ts';

const used = ['weather_agent', 'get_weather', 'time_off_agent'];
const drill: Sample = { manifest: agentManifest(drillApp), folder: 'test/drill/agent' };
const services = [...samples.filter(({ manifest }) => used.includes(manifest.name)), drill];
const doctorProgram = join(import.meta.dirname, '../../libs/cli/src/main.ts');

/** A mesh in which incidents are planted. */
export interface Stage extends AsyncDisposable {
  readonly mesh: LocalMesh;
  readonly client: ReturnType<typeof restClient>;
  /** Redis, with all rights. */
  readonly redis: Redis;
  /** The disk of NATS; undefined when it is that of this machine. */
  readonly disk: Disk | undefined;
  /** The ports of all processes that show metrics. */
  readonly ports: ReadonlySet<number>;
  /** A folder that ends with the stage. */
  readonly folder: string;
  sample(name: string): Sample;
  /** Runs `agentmesh doctor` as the operator, and returns its output. */
  doctor(): Promise<string>;
  /** Starts requests that go on until the returned function is called. Their answers do not matter. */
  keepAsking(message: string, more?: Asking): () => Promise<void>;
  /** Removes the first page of dead letters, as the button "Remove" of the console does. */
  removeDeadLetters(): Promise<void>;
  /** Kills nats-server, which the launcher starts again. */
  restartNats(): Promise<void>;
}

export interface Asking {
  app?: string;
  gatewayUrl?: string;
  /** The number of conversations at once; default 4. */
  lanes?: number;
}

/** Starts the mesh, with NATS on a small disk of its own when `hasDisk` is set. */
export async function startStage({ hasDisk = false } = {}): Promise<Stage> {
  await using owners = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'agentmesh-drill-'));
  owners.defer(() => rm(folder, { recursive: true, force: true }));
  const disk = hasDisk ? owners.use(mountDisk(64)) : undefined;
  const dataDir = join(folder, 'data');
  await mkdir(dataDir);
  if (disk) await symlink(disk.path, join(dataDir, 'nats'));
  const ports = new Set<number>();
  // The launcher gives each service the variables that it reads; only the gateway reads this one.
  process.env.MESH_WHEN_ABSENT = 'enqueue';
  const mesh = await launchMesh({
    services,
    model: 'scripted',
    ackWaitMs: 1_000,
    restarts: true,
    dataDir,
    env: { MESH_HEALTH_PORT: '0' },
    onLine(_service, line) {
      if (line.includes('health port is open')) ports.add(JSON.parse(line).port);
    },
  });
  owners.use(mesh);
  const redis = new Redis(mesh.redisUrl);
  owners.defer(() => redis.disconnect());
  const all = owners.move();
  return {
    mesh,
    client: restClient(mesh.gatewayUrl),
    redis,
    disk,
    ports,
    folder,
    sample(name) {
      const found = services.find(({ manifest }) => manifest.name === name);
      if (!found) throw new Error(`${name} is no service of the drill`);
      return found;
    },
    doctor: () => runDoctor(mesh),
    keepAsking: (message, more) => keepAsking(mesh, message, more),
    async removeDeadLetters() {
      const answer = await fetch(`${mesh.gatewayUrl}/mesh/dead-letters`);
      const { deadLetters } = (await answer.json()) as { deadLetters: { seq: number }[] };
      for (const { seq } of deadLetters)
        await fetch(`${mesh.gatewayUrl}/mesh/dead-letters/${seq}`, { method: 'DELETE' });
    },
    async restartNats() {
      process.kill(await pidWith(`${dataDir}/nats`), 'SIGKILL');
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function runDoctor(mesh: LocalMesh): Promise<string> {
  const env = {
    PATH: process.env.PATH,
    NATS_URL: mesh.natsUrl,
    REDIS_URL: mesh.redisUrlOf(provisionUser),
    ...loginVariables(mesh.login(provisionUser)),
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [doctorProgram, 'doctor'], { env, timeout: 60_000 }, (_, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
}

function keepAsking(
  mesh: LocalMesh,
  message: string,
  { app = 'weather_app', gatewayUrl = mesh.gatewayUrl, lanes = 4 }: Asking = {},
): () => Promise<void> {
  const client = restClient(gatewayUrl);
  const stop = new AbortController();
  const ask = async (lane: number) => {
    while (!stop.signal.aborted) {
      const session = `s${lane}-${Date.now()}`;
      const path = `/apps/${app}/users/u${lane}/sessions/${session}`;
      const body = {
        ...{ appName: app, userId: `u${lane}`, sessionId: session },
        newMessage: { role: 'user', parts: [{ text: message }] },
      };
      try {
        await (await client.send('POST', path, {}, stop.signal)).text();
        await (await client.send('POST', '/run', body, stop.signal)).text();
      } catch {
        // The gateway may be away: that is an incident of its own.
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  const asking = Array.from({ length: lanes }, (_, lane) => ask(lane));
  return async () => {
    stop.abort();
    await Promise.all(asking);
  };
}

/** Returns the process of this mesh whose command line names a folder. */
async function pidWith(folder: string): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
    if (words[0]?.endsWith('nats-server') && words.some((word) => word.includes(folder))) return Number(pid);
  }
  throw new Error(`no nats-server works in ${folder}`);
}
