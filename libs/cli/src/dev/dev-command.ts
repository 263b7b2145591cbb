import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { MeshError } from '@agentmesh/protocol';
import { freePort } from '@agentmesh/testing';
import type { Command, Surroundings } from '../command/command.ts';
import type { Options } from '../command/options.ts';
import { writeContextFile } from '../context/context-file.ts';
import { meshFolder } from '../context/find-mesh.ts';
import { lockFolder } from '../local/data-lock.ts';
import { createDevLog, logLevels } from './dev-log.ts';
import { DevLoop } from './dev-loop.ts';
import { chooseDevModel, type DevModel, usualScript } from './dev-model.ts';
import { type DevOptions, readLevel, readPort, readReplicas } from './dev-options.ts';
import { chooseServers, serverChoices } from './dev-servers.ts';
import { assertProject, assertRunnable, findServices } from './project.ts';
import { watchFiles } from './watch-files.ts';

/** The command that runs a user's project. */
export const devCommand: Command = {
  usage: '[dir]',
  meaning:
    'runs all agents and tools of a project, each a process, and starts them again when their files change',
  options: [
    {
      flags: '--servers <how>',
      meaning: 'NATS and Redis: programs of this machine, Docker, or none: one process',
      default: 'auto',
      choices: serverChoices,
    },
    {
      flags: '--port <number>',
      meaning:
        'the port of the gateway; default MESH_HTTP_PORT, else 8000, or any free port when 8000 is taken',
    },
    {
      flags: '--replicas <service=count>',
      meaning: 'runs several processes of a service; may be given several times',
      isList: true,
    },
    {
      flags: '--model <how>',
      meaning: `scripted=FILE: answers come from a script; scripted: from ${usualScript}; openai=NAME: from this model of OpenAI`,
    },
    {
      flags: '--model-url <url>',
      meaning:
        "asks another server that speaks Gemini's interface; with --model openai=NAME, one that speaks OpenAI's, such as Ollama",
    },
    {
      flags: '--level <level>',
      meaning: 'the lowest level of log lines that are printed; default MESH_LOG_LEVEL, else info',
      choices: logLevels,
    },
    {
      flags: '--only <service>',
      meaning: 'prints the log lines of this service alone; may be given several times',
      isList: true,
    },
  ],
  more: `Definitions are found by their files: agents/<folder>/agent.ts and tools/<folder>/tool.ts; main.ts beside them is the program.
Variables of a file .env in the project are set for all processes. Data, logs and the context file are in .agentmesh.`,
  run: runDev,
};

async function runDev([dir = '.']: string[], around: Surroundings, options: Options): Promise<undefined> {
  const root = resolve(around.cwd, dir);
  const folder = join(root, meshFolder);
  const services = findServices(root);
  assertProject(root, services);
  assertRunnable(services);
  const env = withEnvFile(root, around.env);
  // Else the gateway alone would not start, and the mesh would run without one.
  if (env.MESH_ADK_WEB) (await import('@agentmesh/gateway/web')).findWebUi(env.MESH_ADK_WEB, placesOf(root));
  const port = readPort(options.text('port') ?? (env.MESH_HTTP_PORT || undefined));
  const replicas = readReplicas(options.list('replicas'));
  const choice = { model: options.text('model'), modelUrl: options.text('modelUrl') };
  const model = chooseDevModel(choice, { root, env });
  const level = readLevel(options.text('level') ?? (env.MESH_LOG_LEVEL || 'info'));
  const isJson = env.MESH_LOG_FORMAT === 'json';
  await using _lock = await lockFolder(folder, 'stop it first');
  await using log = createDevLog({
    ...{
      isJson,
      level,
      only: options.list('only'),
      folder: join(folder, 'logs'),
      print: (part) => around.write(part),
    },
    hasColours: process.stdout.isTTY === true && !env.NO_COLOR,
  });
  const servers = options.text('servers') ?? 'auto';
  await run({ root, env, folder, servers, port, model, replicas, level, log, signal: around.signal });
  return undefined;
}

/** Returns the files from which the package of the web UI is searched, as the gateway does. */
function placesOf(root: string): string[] {
  return [import.meta.resolve('@agentmesh/gateway/web'), join(root, 'package.json')];
}

/** Returns the environment with the variables of the project's `.env`; those that are set already count. */
function withEnvFile(root: string, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  try {
    return { ...parseEnv(readFileSync(join(root, '.env'), 'utf8')), ...env };
  } catch (error) {
    if (Reflect.get(Object(error), 'code') === 'ENOENT') return env;
    throw error;
  }
}

async function run(options: DevOptions): Promise<void> {
  const { root, env, folder, log, signal } = options;
  const { choice: servers, notice } = await chooseServers(options.servers);
  if (notice) log.say(notice);
  for (const name of ['NATS_URL', 'REDIS_URL'])
    if (env[name]) log.say(`${name} is set and not used: dev starts its own servers`);
  if (options.model.kind === 'own' && options.model.notice) log.say(options.model.notice);
  const gatewayPort = await choosePort(options.port);
  await using loop = new DevLoop(options, { servers, gatewayPort });
  try {
    await loop.start();
  } catch (error) {
    if (signal.aborted) return;
    throw error;
  }
  const { variables } = loop;
  const context = { variables, ...(servers === 'none' && { isOneProcess: true }) };
  await writeContextFile(join(folder, 'context.json'), context);
  using _watch = watchFiles(root, (files) => void loop.change(files));
  if (signal.aborted) return;
  log.say(banner(loop, { ...options, variables }));
  await new Promise<void>((done) => {
    if (signal.aborted) done();
    signal.addEventListener('abort', () => done(), { once: true });
  });
  log.say('stopping …');
}

function banner(
  { definitions }: DevLoop,
  { env, folder, model, variables }: DevOptions & { variables: Record<string, string> },
): string {
  const { NATS_URL = 'none: one process', REDIS_URL = 'none', MESH_GATEWAY_URL: gateway } = variables;
  const apps = definitions.flatMap(({ manifest }) => manifest.app ?? []);
  const rows = [
    ['REST', gateway ?? ''],
    ...(env.MESH_CONSOLE === 'off' ? [] : [['console', `${gateway}/console`]]),
    ...(env.MESH_ADK_WEB ? [['web UI', `${gateway}/dev-ui/`]] : []),
    ['NATS', NATS_URL],
    ['Redis', REDIS_URL.replace(/\/\/[^@/]*@/, '//')],
    ['apps', apps.join(', ') || 'none'],
    ['models', modelWords(model)],
    ['logs', join(folder, 'logs')],
  ];
  const lines = rows.map(([name = '', value]) => `  ${name.padEnd(8)} ${value}`);
  const [app] = apps;
  const advice = app === undefined ? [] : [`  In another terminal: npx agentmesh chat ${app}`];
  return ['the mesh is running', ...lines, ...advice, '  Ctrl-C stops it.'].join('\n');
}

function modelWords(model: DevModel): string {
  if (model.kind === 'scripted') return `answers from the script ${model.file}`;
  if (model.kind === 'openai')
    return `${model.name} at ${model.url ?? 'OpenAI'}, for all agents with Gemini models`;
  return model.kind === 'url' ? model.url : 'those of the agents';
}

/** Returns the port for the gateway. @throws MeshError `failed_precondition` for a port that is taken */
async function choosePort(wish: number | undefined): Promise<number> {
  if (await isFree(wish ?? usualPort)) return wish ?? usualPort;
  if (wish === undefined) return await freePort();
  throw new MeshError(
    'failed_precondition',
    `port ${wish} is taken; name another --port, or none for a free one`,
  );
}

const usualPort = 8000;

async function isFree(port: number): Promise<boolean> {
  return await new Promise((done) => {
    const probe = createServer();
    probe.once('error', () => done(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => done(true)));
  });
}
