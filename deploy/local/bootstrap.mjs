// npm run demo | start | test | …: installs missing parts, then runs the command with Node 24. Plain JavaScript for
// Node >= 20, because it runs before anything is installed.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installDependencies, tools } from './install.mjs';
import { run, runQuietly, Stop, step } from './process.mjs';
import { provideServers, provideTestPrograms } from './servers.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const { node, bin } = tools(root);

/** The option of `npm test` that writes the times of the tiers into CONTRIBUTING.md. */
const writeTimes = '--write-times';
/** The projects of vitest that `npm test` runs. The others belong to `npm run test:long`. */
const tiers = ['unit', 'slow', 'simulation', 'integration'];

/**
 * The commands. `servers` is none, local (programs or Docker, which tests stop and kill), or any (also the
 * servers of NATS_URL and REDIS_URL).
 */
const commands = {
  demo: { servers: 'any', run: (args, env) => runNode(['deploy/local/demo.ts', ...args], env) },
  start: { servers: 'any', run: (args, env) => runNode(['deploy/local/start.ts', ...args], env) },
  bench: { servers: 'local', run: (args, env) => runNode(['test/bench/main.ts', ...args], env) },
  'bench:growth': {
    servers: 'local',
    run: (args, env) => runNode(['test/bench/growth/main.ts', ...args], env),
  },
  mesh: {
    servers: 'none',
    run: (args, env) => runNode([...operatorEnv(), 'libs/cli/src/main.ts', ...args], env),
  },
  chaos: { servers: 'local', run: (args, env) => runNode(['test/chaos/main.ts', ...args], env) },
  simulate: { servers: 'none', run: (args, env) => runNode(['test/sim/main.ts', ...args], env) },
  build: { servers: 'none', run: (_, env) => build(env) },
  release: { servers: 'none', run: (args, env) => runNode(['deploy/packages/release.ts', ...args], env) },
  check: { servers: 'none', run: (_, env) => check(env) },
  generate: { servers: 'none', run: (_, env) => generate(env) },
  'test:unit': {
    servers: 'none',
    // Most tests wait more than they work.
    run: (args, env) => vitest(['--project', 'unit', '--maxWorkers=4', ...args], env),
  },
  'test:long': {
    servers: 'local',
    async run(args, env) {
      await provideTestPrograms();
      return runNode(['test/long/main.ts', ...args], env);
    },
  },
  test: {
    servers: 'local',
    async run(args, env) {
      await provideTestPrograms();
      // Who names files works on them: the rest need not be in order yet.
      if (args.every((word) => word.startsWith('-'))) await check(env);
      const writes = args.includes(writeTimes);
      return vitest(
        [...tiers.flatMap((name) => ['--project', name]), ...args.filter((word) => word !== writeTimes)],
        writes ? { ...env, MESH_TEST_TIMES: 'write' } : env,
      );
    },
  },
};

/**
 * Keeps what Node makes of our TypeScript: a process of a service starts with half of the CPU time, and the tests
 * start hundreds of them.
 */
const compileCache = { NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'compiled') };

/**
 * Returns the environment that leads to the mesh of `npm start`. Variables of our own environment come first.
 */
function operatorEnv() {
  const file = join(process.env.MESH_DATA_DIR || join(root, '.mesh'), 'operator.env');
  return existsSync(file) ? [`--env-file=${file}`] : [];
}

async function runNode(args, env) {
  const { exitCode } = await run(node, args, { cwd: root, env });
  return exitCode;
}

function vitest(args, env) {
  step('running the tests');
  return runNode(['node_modules/vitest/vitest.mjs', 'run', ...args], env);
}

async function check(env) {
  const quietly = (what, ...args) => runQuietly(node, args, what, { cwd: root, env });
  step('checking format and lint');
  const biome = 'biome (npm run generate mends format and the order of imports)';
  await quietly(biome, 'node_modules/@biomejs/biome/bin/biome', 'ci', '--colors=off', '.');
  step('checking types');
  const checkTypes = (what, project) => {
    // A later check looks only at what has changed.
    const memory = [
      '--incremental',
      '--tsBuildInfoFile',
      `node_modules/.cache/${what.replaceAll(' ', '-')}.json`,
    ];
    return quietly(what, 'node_modules/typescript/bin/tsc', '--noEmit', ...memory, '-p', project);
  };
  await checkTypes('tsc', '.');
  await checkTypes('tsc of the console', 'services/gateway/page');
  step('looking for unused files, exports and dependencies');
  await quietly('knip', 'node_modules/knip/bin/knip.js', '--no-progress');
  return 0;
}

/** Compiles the packages that are published. */
async function build(env) {
  step('compiling the packages into their folders dist');
  return runNode(['deploy/packages/build.ts'], env);
}

/** Writes and formats the generated files: deployments, rights, tables of docs, the page of the console. */
async function generate(env) {
  const quietly = (what, ...args) => runQuietly(node, args, what, { cwd: root, env });
  step('writing deployments and rights');
  await quietly('deploy/write.ts', 'deploy/write.ts');
  step('writing tables of docs');
  await quietly('test/write-docs.ts', 'test/write-docs.ts');
  step('building the page of the console');
  await quietly('services/gateway/page/write-page.ts', 'services/gateway/page/write-page.ts');
  await quietly('biome', 'node_modules/@biomejs/biome/bin/biome', 'check', '--write', '--colors=off', '.');
  return 0;
}

async function main([name, ...rest]) {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < 20) throw new Stop(`Node ${process.versions.node} is too old: install Node 20 or newer`, 2);
  const command = Object.hasOwn(commands, name ?? '') ? commands[name] : undefined;
  if (!command)
    throw new Stop(`usage: node deploy/local/bootstrap.mjs <${Object.keys(commands).join('|')}>`, 2);
  await installDependencies(root);
  const provided =
    command.servers === 'none' ? {} : await provideServers(root, { reuse: command.servers === 'any' });
  const path = [bin, process.env.PATH].filter(Boolean).join(process.platform === 'win32' ? ';' : ':');
  const args = rest[0] === '--' ? rest.slice(1) : rest;
  return command.run(args, { ...compileCache, ...process.env, ...provided, PATH: path });
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Stop ? error.message : error);
  process.exitCode = error instanceof Stop ? error.exitCode : 1;
}
