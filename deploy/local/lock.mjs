import { mkdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { step } from './process.mjs';

/**
 * The interval at which the holder touches its lock, in ms. A lock that was not touched for `staleMs` has no
 * holder.
 */
const touchMs = 2_000;
const staleMs = 30_000;

async function read(path) {
  try {
    return { text: await readFile(path, 'utf8'), age: Date.now() - (await stat(path)).mtimeMs };
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function isStale({ text, age }) {
  if (age > staleMs) return true;
  const [pid, host] = text.split(' ');
  // An empty file has just been created and is being written.
  return host === hostname() && !isAlive(Number(pid));
}

/** Removes the lock of a dead holder. The rename succeeds for one process only. */
async function takeAway(path, seen) {
  const aside = `${path}.${process.pid}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (error.code === 'ENOENT') return;
    throw error;
  }
  // Another process was faster, and this is the lock of the new holder: put it back.
  if ((await readFile(aside, 'utf8')) !== seen) await rename(aside, path);
  else await rm(aside, { force: true });
}

async function acquire(path) {
  await mkdir(dirname(path), { recursive: true });
  const mine = `${process.pid} ${hostname()} ${Date.now()}`;
  for (let isReported = false; ; ) {
    try {
      await writeFile(path, mine, { flag: 'wx' });
      return mine;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const seen = await read(path);
    if (seen && isStale(seen)) await takeAway(path, seen.text);
    else {
      if (!isReported) step(`waiting for another installation (process ${seen?.text.split(' ')[0] ?? '?'})`);
      isReported = true;
      await sleep(200);
    }
  }
}

/**
 * Runs `work` while no other process of this working copy holds the lock. Takes over the lock of a dead
 * process.
 */
export async function withLock(path, work) {
  const mine = await acquire(path);
  const touch = setInterval(() => utimes(path, new Date(), new Date()).catch(() => {}), touchMs);
  try {
    return await work();
  } finally {
    clearInterval(touch);
    if ((await read(path))?.text === mine) await rm(path, { force: true });
  }
}
