import { expect, it } from 'vitest';
import { startStage } from './stage.fixture.ts';

const flooder = 'tool_get_weather';
/** The number of connections that a service may have at once. */
const limit = 1_000;
const atOnce = 20;

// The JWTs of accounts have the same limit (account-claims.test.ts); each of their logins is a signature more.
it('one service cannot take the connections of others', async () => {
  await using stage = await startStage('file');
  const open = [];
  while (open.length < limit)
    open.push(...(await Promise.all(Array.from({ length: atOnce }, () => stage.login(flooder)))));
  await expect(stage.login(flooder)).rejects.toThrow();
  const other = await stage.login('agent_stock_agent');
  await other.flush();
  await open[0]?.close();
  await (await stage.login(flooder)).flush();
}, 120_000);
