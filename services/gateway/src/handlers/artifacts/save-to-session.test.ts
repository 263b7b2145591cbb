import { InMemoryArtifactService, InMemorySessionService } from '@agentmesh/agent';
import { expect, it } from 'vitest';
import type { GatewayContext } from '../../context/context.ts';
import { saveToSession } from './save-to-session.ts';

const ref = { appName: 'app', userId: 'u', sessionId: 's' };

/** Saves a file while this happens to its session. Returns the error code, and the files that are left. */
async function saved(filename: string, steps: { before?: Change; during?: Change; after?: Change }) {
  const sessions = new InMemorySessionService();
  const artifacts = new InMemoryArtifactService();
  const context = { mesh: { sessions, artifacts } } as unknown as GatewayContext;
  await sessions.createSession(ref);
  await steps.before?.(sessions);
  const saving = saveToSession(context, { ...ref, filename }, async (assertStays) => {
    await steps.during?.(sessions);
    await assertStays();
    const version = await artifacts.saveArtifact({ ...ref, filename, artifact: { text: 'bytes' } });
    await steps.after?.(sessions);
    return version;
  });
  const code = await saving.then(
    () => 'saved',
    (error) => error.code,
  );
  return [code, await artifacts.listArtifactKeys(ref)];
}

type Change = (sessions: InMemorySessionService) => Promise<unknown>;
const remove: Change = (sessions) => sessions.deleteSession(ref);
const replace: Change = async (sessions) => {
  await remove(sessions);
  await sessions.createSession(ref);
};

it.each([
  ['gone when it begins', 'f', { before: remove }],
  ['gone at its end', 'f', { during: remove }],
  ['gone when it is stored', 'f', { after: remove }],
  ['another one of its id at its end', 'f', { during: replace }],
  ['gone at the end of a file of the user', 'user:f', { during: remove }],
])('leaves nothing when the session is %s', async (_what, filename, steps) => {
  expect(await saved(filename, steps)).toEqual(['not_found', []]);
});

it('saves the file of a session that stays, and one of a user without a session', async () => {
  expect(await saved('f', {})).toEqual(['saved', ['f']]);
  expect(await saved('user:f', { before: remove })).toEqual(['saved', ['user:f']]);
});
