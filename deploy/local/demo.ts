import { readFile } from 'node:fs/promises';
import { type Event, every, everySession, header, replicaKey, subjects } from '@agentmesh/protocol';
import { connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { type LocalMesh, launchMesh } from './launch.ts';
import { chooseModel } from './model-choice.ts';
import { describeEvent, logPrinter } from './print.ts';
import { samples } from './samples.ts';

interface Scene {
  title: string;
  app: string;
  message: string;
  streaming?: boolean;
  /** Checks the events of the scene. Returns a text about the failure, or undefined. */
  check: (events: readonly Event[], mesh: LocalMesh) => string | undefined;
}

/**
 * The samples that wait for people, work for long or need files first. `npm start` has them;
 * docs/long-running.md and docs/artifacts.md use them.
 */
const slow = [
  'reimbursement_agent',
  'ask_for_approval',
  'reimburse',
  'time_off_agent',
  'document_agent',
  'process_document',
  'file_agent',
  'process_large_file',
];

const scenes: Scene[] = [
  {
    title: 'a function tool',
    app: 'stock_app',
    message: 'What is the price of GOOG?',
    check: (events) => expectWords(events, '182.4'),
  },
  {
    title: 'a transfer to an agent in another process',
    app: 'customer_app',
    message: 'My account is locked and this is urgent!',
    check: (events, mesh) => expectWords(events, 'Support here') ?? expectOtherProcess(events, mesh),
  },
  {
    title: 'an agent in another process as a tool, streamed',
    app: 'assistant_app',
    message:
      'Agents talk over a bus. Each of them is a process of its own. Any of them may die. Nothing is lost.',
    streaming: true,
    check: (events) => expectWords(events, 'Here is the summary'),
  },
  {
    title: 'a tool that is a service of its own',
    app: 'weather_app',
    message: 'How is the weather in Oslo?',
    check: (events) => expectWords(events, 'snows'),
  },
];

async function main(): Promise<number> {
  const { model, notice } = chooseModel(process.env, { isDemo: true });
  if (notice) console.log(notice);
  console.log('Starting NATS, Redis, the gateway, six agents and a tool, each a process of its own …');
  const printer = logPrinter();
  await using mesh = await launchMesh({
    services: samples.filter(({ manifest }) => !slow.includes(manifest.name)),
    model,
    onLine: printer.onLine,
  });
  for (const { name, pid } of [...mesh.processes, mesh.gateway])
    console.log(`  pid ${String(pid).padEnd(7)} ${name}`);
  const client = await connectClient(mesh);
  await using _closed = { [Symbol.asyncDispose]: () => client.close() };
  listenToAsks(client);
  const failures: string[] = [];
  for (const scene of scenes) {
    console.log(`\n${scene.app}: ${scene.title}\n  user: ${scene.message}`);
    const events = await runOverHttp(mesh.gatewayUrl, scene);
    const problem = scene.check(events, mesh);
    if (problem) failures.push(`${scene.app}: ${problem}`);
  }
  const problem = await askOverNats(client);
  if (problem) failures.push(problem);
  for (const failure of failures) console.error(`\nFAILED ${failure}`);
  if (failures.length === 0) console.log('\nAll went as it should. Stopping everything …');
  return failures.length === 0 ? 0 : 1;
}

async function runOverHttp(url: string, { app, message, streaming = false }: Scene): Promise<Event[]> {
  const session = await postJson(`${url}/apps/${app}/users/demo/sessions`, {});
  const { id } = (await session.json()) as { id: string };
  const response = await postJson(`${url}/run_sse`, {
    appName: app,
    userId: 'demo',
    sessionId: id,
    streaming,
    newMessage: { role: 'user', parts: [{ text: message }] },
  });
  const events: Event[] = [];
  const frames = response.body
    ?.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  for await (const { data } of frames ?? []) {
    const event = JSON.parse(data) as Event & { error?: string };
    if (event.error) throw new Error(`${app}: ${event.error}`);
    console.log(`  ${describeEvent(event)}`);
    if (!event.partial) events.push(event);
  }
  return events;
}

async function postJson(url: string, body: unknown): Promise<Response> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response;
}

/** Connects a client that uses only NATS and JSON, as any other program may. */
async function connectClient(mesh: LocalMesh): Promise<NatsConnection> {
  const { credsFile, ...password } = mesh.login('client');
  return await connect({
    servers: mesh.natsUrl,
    inboxPrefix: subjects().inboxPrefix('client'),
    ...(credsFile === undefined
      ? password
      : { authenticator: credsAuthenticator(await readFile(credsFile)) }),
  });
}

/** Shows the events in the sessions of asks, which the asking agent does not pass on. */
function listenToAsks(client: NatsConnection): void {
  client.subscribe(subjects().sessionEvent(everySession, every, every), {
    callback: (_error, message) => {
      const event = message.json<Event>();
      if (event.author === 'summary_agent') console.log(`    ${describeEvent(event)}`);
    },
  });
}

/** Sends a request to an agent's subject. */
async function askOverNats(client: NatsConnection): Promise<string | undefined> {
  const message = 'NATS carries it. No gateway is needed.';
  const subject = subjects().agentAsk('summary_agent');
  console.log(`\n${subject}: a question over plain NATS\n  user: ${message}`);
  const reply = await client.request(subject, JSON.stringify({ message }), { timeout: 30_000 });
  const { text } = reply.json<{ text?: string }>();
  console.log(`  answer of ${reply.headers?.get(header.replica)}: “${text}”`);
  return text?.includes('NATS carries it') ? undefined : `summary_agent answered ${JSON.stringify(text)}`;
}

function expectWords(events: readonly Event[], words: string): string | undefined {
  const text =
    events
      .at(-1)
      ?.content?.parts?.map((part) => part.text ?? '')
      .join('') ?? '';
  return text.includes(words) ? undefined : `the last event says ${JSON.stringify(text)} and not “${words}”`;
}

function expectOtherProcess(events: readonly Event[], mesh: LocalMesh): string | undefined {
  const replicas = events.map((event) => String(event.customMetadata?.[replicaKey]));
  const [first, last] = [replicas[0], replicas.at(-1)];
  const support = mesh.processes.find(({ name }) => name === 'support_agent');
  if (first !== last && last?.includes(`-${support?.pid}-`)) {
    console.log(`  (entered at ${first}, answered by ${last})`);
    return undefined;
  }
  return `the answer came from ${last}, the request entered at ${first}`;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
