import { describe, expect, it } from 'vitest';
import { type Form, startStage } from './stage.fixture.ts';

const forms: Form[] = ['file', 'JWT'];
const flooder = 'tool_get_weather';
/** The number of connections that a service may have at once. */
const limit = 1_000;
const atOnce = 10;

describe.each(forms)('with accounts in the %s form', (form) => {
  it('one service cannot take the connections of others', async () => {
    await using stage = await startStage(form);
    const open = [];
    while (open.length < limit)
      open.push(...(await Promise.all(Array.from({ length: atOnce }, () => stage.login(flooder)))));
    await expect(stage.login(flooder)).rejects.toThrow();
    const other = await stage.login('agent_stock_agent');
    await other.flush();
    await open[0]?.close();
    await (await stage.login(flooder)).flush();
  }, 60_000);
});
