import type { Incident } from '../incident.ts';
import { moveClock } from '../moved-clock.ts';

const appears = { timeout: 20_000 };

/** A message kills each process that works on it. */
export const poisonRun: Incident = {
  name: 'poison-run',
  title: 'A run kills its replicas',
  async plant({ client, removeDeadLetters }) {
    const session = await client.createSession('drill_app');
    const run = client.run('drill_app', session, 'crash').then((answer) => answer.text());
    return async () => {
      await run;
      await removeDeadLetters();
    };
  },
  signs: () => [
    { place: 'alert', alert: /^AgentmeshDeadLetters$/ },
    { place: 'doctor', line: /^! dead-letters: there are dead letters: 1/m },
    {
      place: 'console',
      view: 'dead-letters',
      shows: (page) => page.getByRole('listitem', { name: /^dead letter/ }),
      async before(page) {
        await page.getByRole('button', { name: 'Show the message' }).click(appears);
        await page.getByText('"crash"').waitFor(appears);
      },
    },
  ],
};

/** The only replica of an agent is dead, and a run waits for it. */
export const lostReplica: Incident = {
  name: 'lost-replica',
  title: 'A replica is lost',
  async plant(stage) {
    const { mesh, client } = stage;
    const lost = mesh.processes.findLast(({ name }) => name === 'weather_agent');
    // The launcher does not start a process again that it was told to kill.
    await lost?.kill();
    const session = await client.createSession('weather_app');
    const run = client.run('weather_app', session, 'How is the weather in Oslo?');
    return async () => {
      mesh.processes.push(await mesh.start(stage.sample('weather_agent')));
      await (await run).text();
    };
  },
  signs: () => [
    { place: 'doctor', line: /^! replicas: no replica of agent weather_agent is up/m },
    { place: 'alert', alert: /^AgentmeshNoReplica$/, labels: { name: 'weather_agent' } },
    {
      place: 'console',
      view: '',
      shows: (page) => page.getByRole('button', { name: /^agent weather_agent: 0 replicas, 1 waiting/ }),
    },
  ],
};

/** A replica of an earlier version was forgotten at an update. */
export const versionMismatch: Incident = {
  name: 'version-mismatch',
  title: 'Two versions of a service run',
  async plant(stage) {
    const old = await stage.mesh.start(stage.sample('get_weather'), { MESH_VERSION: '0.0.9' });
    return async () => {
      await old.stop();
    };
  },
  signs: () => [
    {
      place: 'doctor',
      line: /^! versions: tool get_weather runs in 2 versions: 0\.0\.9 \(1\), 0\.1\.0 \(1\)/m,
    },
    { place: 'alert', alert: /^AgentmeshVersionsMixed$/, labels: { service_name: 'tool_get_weather' } },
    {
      place: 'console',
      view: '',
      shows: (page) => page.getByRole('cell', { name: '0.0.9, 0.1.0' }),
      async before(page) {
        await page.getByRole('button', { name: /^tool get_weather: 2 replicas/ }).click(appears);
      },
    },
  ],
};

/** The clock of one machine is two minutes ahead. */
export const clockSkew: Incident = {
  name: 'clock-skew',
  title: 'A clock is wrong',
  async plant(stage) {
    const environment = moveClock(stage.folder, 120);
    const ahead = await stage.mesh.start(stage.sample('weather_agent'), environment);
    return async () => {
      await ahead.stop();
    };
  },
  signs: () => [{ place: 'alert', alert: /^AgentmeshClockWrong$/ }],
};
