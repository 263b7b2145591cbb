import { until } from '@agentmesh/testing';
import type { Incident } from '../incident.ts';

/** A run waits for an approval, and nobody gives it. */
export const stuckApproval: Incident = {
  name: 'stuck-approval',
  title: 'An approval is not given',
  async plant({ client }) {
    const session = await client.createSession('time_off_app', 'ann');
    await client.events('time_off_app', session, 'I want 5 days off', { userId: 'ann' });
    const path = `/apps/time_off_app/users/ann/sessions/${session}`;
    return async () => {
      const { pending } = (await (await client.send('GET', `${path}/pending`)).json()) as {
        pending: { id: string; name: string }[];
      };
      const [call] = pending;
      const response = { confirmed: true, payload: { approvedDays: 4 } };
      const body = {
        ...{ appName: 'time_off_app', userId: 'ann', sessionId: session },
        newMessage: { role: 'user', parts: [{ functionResponse: { ...call, response } }] },
      };
      const answer = await (await client.send('POST', '/run', body)).text();
      if (!answer.includes('You have 4 of 5 days off.')) throw new Error(`the answer is ${answer}`);
    };
  },
  signs: () => [
    { place: 'alert', alert: /^AgentmeshAnswerOverdue$/, labels: { app: 'time_off_app' } },
    {
      place: 'console',
      view: 'pending',
      shows: (page) =>
        page
          .getByRole('listitem', { name: 'confirmation of time_off_agent' })
          .filter({ hasText: '5 days off are wanted' }),
    },
  ],
};

/** The model of an agent takes seconds, in a drill whose minutes are seconds. */
export const slowModel: Incident = {
  name: 'slow-model',
  title: 'A model is slow',
  async plant(stage) {
    const stop = stage.keepAsking('Answer slowly.', { app: 'drill_app', lanes: 12 });
    return async () => {
      await stop();
      await until(async () => (await runningOf(stage.client)) === undefined, {
        ...{ what: 'the end of all runs', timeoutMs: 20_000 },
      });
    };
  },
  signs: () => [
    { place: 'alert', alert: /^AgentmeshWorkSlow$/, labels: { name: 'drill_agent', kind: 'run' } },
    {
      place: 'console',
      view: 'runs?status=running',
      shows: (page) => page.getByRole('row', { name: /drill_app/ }).first(),
      async before(page) {
        // The waterfall of one of them, after its model has answered.
        await page
          .getByRole('row', { name: /drill_app/ })
          .first()
          .getByRole('link')
          .first()
          .click();
        await page.getByRole('button', { name: /^model call/ }).waitFor();
        await page.waitForTimeout(6_000);
        await page.getByRole('button', { name: /^model call/ }).click();
      },
    },
  ],
};

async function runningOf(client: {
  send: (method: string, path: string) => Promise<Response>;
}): Promise<unknown> {
  const { runs } = (await (await client.send('GET', '/mesh/runs?status=running&app=drill_app')).json()) as {
    runs: unknown[];
  };
  return runs[0];
}

/** A caller sends more than its quota allows. */
export const quota: Incident = {
  name: 'quota',
  title: 'A quota is reached',
  async plant(stage) {
    // A gateway of its own has the quota, so that the other incidents are not limited.
    const gateway = await stage.mesh.start('gateway', { MESH_HTTP_USER_RUNS_PER_MINUTE: '2' });
    const gatewayUrl = gateway.address ?? '';
    const stop = stage.keepAsking('Hello.', { app: 'drill_app', gatewayUrl });
    return async () => {
      await stop();
      await gateway.stop();
    };
  },
  signs: () => [{ place: 'alert', alert: /^AgentmeshGatewayRefuses$/ }],
};
