import { expect, it } from 'vitest';
import {
  every,
  everySession,
  readEventSubject,
  type Subjects,
  subjects,
  subjectTable,
  watchOf,
} from './subjects.ts';

const names = subjects();
/**
 * The members that return names of streams, buckets and the like; `workSubject` repeats the subjects of the
 * queues.
 */
const noSubjects: readonly (keyof Subjects)[] = [
  'root',
  'invocationWatch',
  'starterWatch',
  'workStream',
  'workConsumer',
  'workSubject',
  'probeStream',
  'deadStream',
  'auditStream',
  'cardBucket',
  'artifactBucket',
  'claimBucket',
  'cardKey',
  'provisionedKey',
  'shownAs',
  'inboxPrefix',
];
/** The subjects whose arguments are not only names, each with the member for all sessions. */
const forAll: Partial<Record<keyof Subjects, string>> = {
  dead: names.dead('agent', every).replace('agent', '*'),
  sessionEvent: names.sessionEvent(everySession, every, every),
  sessionNews: names.sessionNews(everySession, every, every),
  sessionPending: names.sessionPending(everySession, every),
};

it('lists exactly the subjects that it makes in its table', () => {
  const members: [string, unknown][] = Object.entries(names);
  const subjectMembers = members.filter(([name]) => !noSubjects.some((other) => other === name));
  const made = subjectMembers.map(
    ([name, member]) =>
      forAll[name as keyof Subjects] ?? (typeof member === 'function' ? member(every, every, every) : member),
  );
  expect(made.length).toBeGreaterThan(10);
  const listed = subjectTable.map(({ subject }) => `${names.root}.${subject.replaceAll(/<\w+>/g, '*')}`);
  expect(listed.sort()).toEqual([...new Set(made)].sort());
});

it('reads the names from the subject of an event', () => {
  const ref = { appName: 'a.b', userId: '*', sessionId: 'é >' };
  for (const invocationId of ['e-s1a2b3c4d-1', 'x.y']) {
    for (const subject of [
      names.sessionEvent(ref, invocationId, 'agent_a.b'),
      names.sessionNews(ref, invocationId, 'agent_a.b'),
    ]) {
      expect(readEventSubject(subject)).toEqual({ ...ref, invocationId, service: 'agent_a.b' });
      expect(watchOf(subject)).toBe(names.invocationWatch(ref, invocationId));
    }
  }
});
