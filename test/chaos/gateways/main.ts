/**
 * Has clients read runs behind a proxy before two gateways, kills one of them every few seconds, and checks that no
 * client misses or repeats an event and that limits hold.
 *
 * `node_modules/.bin/node test/chaos/gateways/main.ts [clients] [seconds] [seconds between kills]`
 */
import { perMinute, startStage } from './stage.ts';
import { storm } from './storm.ts';

const [clients = 200, seconds = 120, killSeconds = 4] = process.argv.slice(2).map(Number);
await using stage = await startStage();
const { wrong, accepted, ...counts } = await storm({
  mesh: stage.mesh,
  ...{ app: 'stock_app', message: 'What is the price of GOOG?' },
  ...{ clients, lengthMs: seconds * 1_000, killEveryMs: killSeconds * 1_000 },
  headersOf: (user) => ({ 'x-user': user }),
  limited: { user: 'busy', perMinute },
});
console.log({ clients, seconds, ...counts, wrong: wrong.length });
for (const each of wrong.slice(0, 10)) console.log(each);
console.log(
  `the limited caller: ${accepted} of ${perMinute} allowed requests answered, of ${2 * perMinute} sent`,
);
const isExact = Math.abs(accepted - perMinute) <= 0.05 * perMinute;
process.exitCode = wrong.length === 0 && counts.runs > 0 && isExact ? 0 : 1;
