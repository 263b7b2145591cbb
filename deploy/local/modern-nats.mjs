import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withLock } from './lock.mjs';
import { run, runQuietly, Stop, step } from './process.mjs';

/** The oldest nats-server that the mesh works with. */
const oldest = { major: 2, minor: 10 };
/** The release of Debian whose package is fetched where the machine's own is older. */
const release = 'trixie';
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** Returns the version that a nats-server prints, such as `2.10.27`; an empty text if it prints none. */
async function versionOf(program) {
  const { output } = await run(program, ['--version'], { quiet: true });
  return /v?(\d+\.\d+\.\d+)/.exec(output)?.[1] ?? '';
}

function isModern(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > oldest.major || (major === oldest.major && minor >= oldest.minor);
}

/**
 * Returns a nats-server that is new enough: the given one, or Debian's newer package of this one program, in a folder
 * of the working copy. Nothing else on the machine changes. @throws Stop with advice
 */
export async function modernNats(root, program, isGiven) {
  const version = await versionOf(program);
  if (isModern(version)) return program;
  const advice = `${program} is ${version || 'of an unknown version'}; the mesh needs ${oldest.major}.${oldest.minor} or newer: install it (https://docs.nats.io/running-a-nats-service/introduction/installation), and set MESH_NATS_BIN if it is not on the PATH`;
  if (isGiven) throw new Stop(advice, 2);
  const folder = join(root, '.mesh', 'servers');
  const fetched = join(folder, `nats-server-${release}`);
  return withLock(join(root, '.mesh', 'servers.lock'), async () => {
    if (existsSync(fetched)) return fetched;
    step(`nats-server ${version} is too old: fetching that of Debian ${release} into .mesh/servers`);
    const work = join(folder, `work-${process.pid}`);
    try {
      await fetchInto(work);
      await rename(join(work, 'root', 'usr', 'sbin', 'nats-server'), fetched);
    } catch (error) {
      throw new Stop(`${error instanceof Stop ? error.message : String(error)}\n${advice}`, 2);
    } finally {
      await rm(work, { recursive: true, force: true });
    }
    return fetched;
  });
}

/** Downloads the package of nats-server with lists and caches of its own, and unpacks it. */
async function fetchInto(work) {
  for (const folder of ['parts', 'lists/partial', 'cache/archives/partial'])
    await mkdir(join(work, folder), { recursive: true });
  const source = ['Types: deb', `URIs: ${await mirror()}`, `Suites: ${release}`, 'Components: main'];
  await writeFile(join(work, 'parts', 'debian.sources'), [...source, `Signed-By: ${keyring}`, ''].join('\n'));
  const settings = {
    'Dir::Etc::sourcelist': '/dev/null',
    'Dir::Etc::sourceparts': join(work, 'parts'),
    'Dir::State::lists': join(work, 'lists'),
    'Dir::Cache': join(work, 'cache'),
    'APT::Sandbox::User': 'root',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  const apt = (...args) =>
    runQuietly('apt-get', ['-qq', ...options, ...args], `apt-get ${args[0]}`, { cwd: work });
  await apt('update');
  await apt('download', 'nats-server');
  const [archive] = (await readdir(work)).filter((name) => name.endsWith('.deb'));
  if (!archive) throw new Stop('apt-get downloaded no package', 1);
  await runQuietly('dpkg-deb', ['-x', join(work, archive), join(work, 'root')], 'dpkg-deb');
}

/** Returns the address from which this machine gets Debian's packages. */
async function mirror() {
  const folder = '/etc/apt/sources.list.d';
  const names = (await readdir(folder).catch(() => [])).filter((name) => /\.(sources|list)$/.test(name));
  const files = [...names.map((name) => join(folder, name)), '/etc/apt/sources.list'];
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch(() => '');
    const address = /^(?:URIs:|deb (?:\[[^\]]*\] )?)\s*(\S*debian\S*)/m.exec(text)?.[1];
    if (address) return address;
  }
  throw new Stop('this machine has no source of Debian packages', 1);
}
