import { expect, it } from 'vitest';
import { shownVersion } from './replica-stats.ts';

it.each([
  ['that of the card while a replica has it', '1', ['1', '2'], '1'],
  ['that of the card without replicas', '1', [], '1'],
  ['that of the card while no replica tells its own', '1', [undefined], '1'],
  ['that of the replicas when the card is of one that is gone', '1', ['2', '2'], '2'],
  ['those of the replicas, when there are several', '1', ['3', '2'], '2, 3'],
])('the version of a service is %s', (_what, ofCard, versions, shown) => {
  const replicas = versions.map((version) => (version === undefined ? {} : { version }));
  expect(shownVersion(ofCard, replicas)).toBe(shown);
});
