import { accessSync, constants, statSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { withLock } from './lock.mjs';
import { modernNats } from './modern-nats.mjs';
import { run, runQuietly, Stop, step } from './process.mjs';

const servers = [
  { program: 'nats-server', binary: 'MESH_NATS_BIN', url: 'NATS_URL' },
  { program: 'redis-server', binary: 'MESH_REDIS_BIN', url: 'REDIS_URL' },
];

/**
 * The folders of servers that are not on every user's PATH: Debian's folder for daemons, Homebrew's on Apple
 * silicon.
 */
const morePlaces = ['/usr/sbin', '/usr/local/sbin', '/usr/local/bin', '/opt/homebrew/bin'];

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function find(program) {
  const places = [...(process.env.PATH ?? '').split(delimiter), ...morePlaces].filter(Boolean);
  return places.map((place) => join(place, program)).find(isProgram);
}

/** Returns the paths of the servers' programs by variable; undefined when one is missing. */
function binaries(needed) {
  const found = {};
  for (const { program, binary } of needed) {
    const given = process.env[binary];
    if (given && !isProgram(given)) throw new Stop(`${binary} is ${given}, which is not a program`, 2);
    const path = given || find(program);
    if (!path) return undefined;
    found[binary] = path;
  }
  return found;
}

async function dockerAnswers() {
  if (!find('docker')) return false;
  const { exitCode } = await run('docker', ['version', '--format', '{{.Server.Version}}'], {
    quiet: true,
    timeout: 10_000,
  });
  return exitCode === 0;
}

/** The file that forbids Debian's packages to start their daemons at installation. */
const policy = '/usr/sbin/policy-rc.d';

async function withoutDaemons(work) {
  try {
    await writeFile(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755, flag: 'wx' });
  } catch (error) {
    // The machine has a policy already, which must stay.
    if (error.code === 'EEXIST') return work();
    throw error;
  }
  try {
    return await work();
  } finally {
    await rm(policy, { force: true });
  }
}

async function installByApt(needed) {
  const programs = needed.map(({ program }) => program);
  step(`installing ${programs.join(' and ')} (apt-get, as root)`);
  const options = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
  const apt = (...args) =>
    runQuietly('apt-get', ['-o', 'DPkg::Lock::Timeout=120', ...args], `apt-get ${args[0]}`, options);
  await apt('update');
  await withoutDaemons(() => apt('install', '-y', '--no-install-recommends', ...programs));
}

/**
 * The programs that the tests run, by the name of Debian's package: python3 for the examples in Python, a
 * browser for the web UI.
 */
const testPrograms = {
  python3: ['python3'],
  chromium: ['chromium', 'chromium-browser', 'google-chrome'],
};

/** Programs without which some tests are skipped, and the Debian packages that have them. */
const optionalPrograms = { promtool: 'prometheus' };

/** Provides the programs that the tests run. @throws Stop with advice */
export async function provideTestPrograms() {
  const optional = Object.entries(optionalPrograms).filter(([program]) => !find(program));
  if (optional.length > 0 && process.getuid?.() === 0 && find('apt-get'))
    await installByApt(optional.map(([, program]) => ({ program }))).catch((error) => step(error.message));
  const missing = Object.keys(testPrograms).filter((name) => !testPrograms[name].some(find));
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || !find('apt-get')) {
    const names = missing.join(' and ');
    throw new Stop(
      `${names} not found, which the tests run: install it (Debian: apt-get install -y ${missing.join(' ')})`,
      2,
    );
  }
  await installByApt(missing.map((program) => ({ program })));
}

function howToInstall(needed) {
  const programs = needed.map(({ program }) => program).join(' and ');
  return `${programs} not found. Do one of these and run the command again:
  Debian, Ubuntu:  sudo apt-get install -y nats-server redis-server
  macOS:           brew install nats-server redis
  Docker:          sudo systemctl start docker     (any engine that answers "docker version" will do)
Programs in other places: set MESH_NATS_BIN and MESH_REDIS_BIN.
For demo and start, servers that run already: set NATS_URL and REDIS_URL.`;
}

/**
 * Provides NATS and Redis in the first possible way: servers that run already (when `reuse`), programs on
 * this machine, Docker, or apt as root. Returns the environment for the command. @throws Stop with exit code
 * 2 and advice
 */
export async function provideServers(root, { reuse }) {
  const needed = servers.filter(({ url }) => !(reuse && process.env[url]));
  if (process.env.MESH_TEST_SERVERS === 'docker') return {};
  const found = binaries(needed);
  if (found) return withModernNats(root, found);
  if (await dockerAnswers()) {
    step('nats-server or redis-server not found: they run in Docker');
    return { MESH_TEST_SERVERS: 'docker' };
  }
  if (process.getuid?.() !== 0 || !find('apt-get')) throw new Stop(howToInstall(needed), 2);
  return withLock(join(root, '.mesh', 'install.lock'), async () => {
    try {
      if (!binaries(needed)) await installByApt(needed);
    } catch (error) {
      throw error instanceof Stop ? new Stop(`${error.message}\n${howToInstall(needed)}`, 2) : error;
    }
    const installed = binaries(needed);
    if (!installed) throw new Stop(howToInstall(needed), 2);
    return withModernNats(root, installed);
  });
}

async function withModernNats(root, found) {
  const { MESH_NATS_BIN: program } = found;
  if (program === undefined) return found;
  const isGiven = Boolean(process.env.MESH_NATS_BIN);
  return { ...found, MESH_NATS_BIN: await modernNats(root, program, isGiven) };
}
