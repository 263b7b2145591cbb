import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { carryOut, randomProgram } from './program.ts';
import { startRealNats } from './real-nats.ts';

/** Number of programs at work at once: they wait most of the time. */
const atOnce = 6;
let version = '';

/** Carries a program out until the server shows the same twice: on a busy machine a step may come late. */
async function recordSurely(seed: number): Promise<unknown[]> {
  for (let before = ''; ; ) {
    await using server = await startRealNats();
    ({ version } = server);
    const shown = await carryOut(server, randomProgram(seed));
    if (JSON.stringify(shown) === before) return shown;
    before = JSON.stringify(shown);
  }
}

/** Records what a real nats-server shows for programs: `node test/sim/recorded/record.ts [count]`. */
const count = Number(process.argv[2] ?? 24);
const recordings: Record<string, unknown[]> = {};
const seeds = Array.from({ length: count }, (_, at) => at + 1).values();
const work = async () => {
  for (const seed of seeds) {
    recordings[seed] = await recordSurely(seed);
    console.log(`program ${seed} of ${count} on nats-server ${version}`);
  }
};
await Promise.all(Array.from({ length: atOnce }, work));
const folder = join(import.meta.dirname, 'nats');
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, `${version}.json`), `${JSON.stringify(recordings)}\n`);
