/**
 * Measures how the mesh grows: replicas of an agent with a slow model, watchers of one run, and turns over a Redis
 * Cluster against a single server. Each part starts servers of its own. Needs Linux.
 *
 * `node_modules/.bin/node test/bench/scale/main.ts [--rounds 3] [--only replicas|watchers|cluster]`
 */
import { parseArgs } from 'node:util';
import { measureCluster } from './cluster.ts';
import { measureReplicas } from './replicas.ts';
import { measureWatchers } from './watchers.ts';

const parts = { replicas: measureReplicas, watchers: measureWatchers, cluster: measureCluster };
type Part = keyof typeof parts;

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, only: { type: 'string' } },
});
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1)
  throw new Error(`--rounds must be 1 or more; it is ${values.rounds}`);
const names = Object.keys(parts) as Part[];
if (values.only !== undefined && !names.some((name) => name === values.only))
  throw new Error(`--only must be one of ${names.join(', ')}; it is ${values.only}`);
for (const name of names) if (values.only === undefined || values.only === name) await parts[name](rounds);
