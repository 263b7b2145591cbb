import { getFunctionCalls, getFunctionResponses } from '@agentmesh/agent';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { type Sample, samples } from '@agentmesh/deploy/samples';
import { addPart, noTally, type Tally } from '@agentmesh/file-processing-tool/tally';
import { readPart } from '@agentmesh/file-processing-tool/text-file';
import { type Event, every, subjects } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runDocCommands } from '../doc-commands.ts';
import { natsLogin } from '../nats-login.ts';
import { lastText, restClient } from '../rest-client.ts';

const app = 'file_app';
const isTool = ({ manifest }: Sample) => manifest.name === 'process_large_file';

type ServiceProcess = LocalMesh['processes'][number];

let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;
let nats: NatsConnection;
/** The replicas of the tool. */
let replicas: ServiceProcess[];

beforeAll(async () => {
  const services = samples.filter((sample) => isTool(sample) || sample.manifest.name === 'file_agent');
  mesh = await launchMesh({ services, model: 'scripted' });
  const [tool] = services.filter(isTool);
  if (!tool) throw new Error('the tool is gone');
  replicas = [...mesh.processes.filter(({ name }) => name === 'process_large_file'), await mesh.start(tool)];
  client = restClient(mesh.gatewayUrl);
  nats = await connect({
    servers: mesh.natsUrl,
    inboxPrefix: subjects().inboxPrefix('client'),
    ...natsLogin(mesh.login('client')),
  });
});
afterAll(async () => {
  await nats?.close();
  await mesh?.[Symbol.asyncDispose]();
});

const responsesIn = (events: Event[]) =>
  events.flatMap(getFunctionResponses).map(({ response }) => response ?? {});
const progressIn = (events: Event[]) => responsesIn(events).map(({ progress }) => progress);

/** Returns the numbers of completed parts in the progress of an attempt. */
const partsDone = (events: Event[], nth: number) =>
  responsesIn(events).flatMap(({ status, attempt, tally }) =>
    status === 'running' && attempt === nth ? (tally as Tally).parts : [],
  );

/** Returns the expected result for a file. */
function tallyOf(name: string, megabytes: number) {
  const parts = Array.from({ length: megabytes }, (_, part) => part);
  return parts.reduce((tally, part) => addPart(tally, readPart(name, part)), noTally);
}

describe('file_app', () => {
  it('streams the progress of the work and then its result, as docs/long-running.md shows', async () => {
    const events = await runDocCommands('docs/long-running.md', app, mesh.gatewayUrl);
    const committed = events.filter(({ partial }) => !partial);
    expect(progressIn(committed)).toEqual(['0%', '33%', '66%', undefined]);
    const tally = tallyOf('report.txt', 3);
    expect(responsesIn(committed).at(-1)).toMatchObject({ status: 'completed', attempt: 1, ...tally });
    expect(lastText(committed)).toBe(`report.txt has ${tally.lines} lines and ${tally.words} words.`);
  });

  it('continues at another replica when the worker is killed half way, and the model gets one result', async () => {
    const session = await client.createSession(app);
    const log: Event[] = [];
    // The test listens to the session, whose events continue after the end of the calling run.
    nats.subscribe(
      subjects().sessionEvent({ appName: app, userId: 'u1', sessionId: session }, every, every),
      {
        callback: (_error, message) => {
          const event = message.json<Event>();
          if (!log.some(({ id }) => id === event.id)) log.push(event);
        },
      },
    );
    await nats.flush();
    const running = client.events(app, session, 'Process large.txt, it has 8 MB.');
    await until(() => progressIn(log).includes('50%'), { what: 'half of the work' });
    const workerOf = (events: Event[]) =>
      String(responsesIn(events).findLast(({ worker }) => worker)?.worker);
    const killed = workerOf(log);
    const worker = replicas.find(({ pid }) => killed.endsWith(`/${pid}`));
    if (!worker) throw new Error(`no replica of the tool is ${killed}`);
    await worker.kill();
    await running;

    const tally = tallyOf('large.txt', 8);
    const result = `large.txt has ${tally.lines} lines and ${tally.words} words.`;
    await until(() => lastText(log) === result, { what: 'the result', timeoutMs: 30_000 });
    const finals = responsesIn(log).filter(({ status }) => status === 'completed');
    expect(finals).toMatchObject([{ ...tally, attempt: 2 }]);
    expect(workerOf(log)).not.toBe(killed);
    // The second attempt starts at or after the last reported part of the first one, not at the beginning.
    const begun = Math.min(...partsDone(log, 2));
    expect(begun).toBeGreaterThanOrEqual(Math.max(...partsDone(log, 1)));
    expect(begun).toBeGreaterThanOrEqual(4);
    expect(log.flatMap(getFunctionCalls)).toHaveLength(1);
    expect(log.map((event) => lastText([event])).filter((text) => text === result)).toHaveLength(1);
  });
});
