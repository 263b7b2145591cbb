import { createEvent, InMemorySessionService } from '@agentmesh/agent';
import { type Bus, connectNats } from '@agentmesh/bus';
import {
  createCallers,
  createMesh,
  followRun,
  type Mesh,
  memoryCallerKeys,
  memoryCallResults,
  memoryJobs,
} from '@agentmesh/mesh';
import { cardSchema, type Event, header } from '@agentmesh/protocol';
import { createLogger } from '@agentmesh/service';
import { until } from '@agentmesh/testing';
import { casesOfTier } from '@agentmesh/testing/tiers';
import { describe, expect, it } from 'vitest';
import { type Form, names, type Stage, startStage } from './stage.fixture.ts';

const ref = { appName: 'stock_app', userId: 'ann', sessionId: 's', invocationId: 'e-1' };

function speak(text: string, more: Partial<Event> = {}): Event {
  const content = { role: 'model', parts: [{ text }] };
  return createEvent({ invocationId: ref.invocationId, author: 'stock_agent', content, ...more });
}

/** A gateway that watches a run of the app of stock_agent, and two agents with their own accounts. */
async function watchRun(stage: Stage, owners: AsyncDisposableStack) {
  const sessions = new InMemorySessionService();
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLogger({ service: 'test', replica: 'test', level: 'warn', destination });
  const open = async (service: string): Promise<Bus> =>
    owners.use(await connectNats({ ...stage.address(service), service }));
  const [bus, stock, weather] = (await Promise.all(
    ['gateway', 'agent_stock_agent', 'agent_weather_agent'].map(open),
  )) as [Bus, Bus, Bus];
  const mesh: Mesh = createMesh({
    ...{ bus, sessions, log },
    callResults: memoryCallResults(),
    jobs: memoryJobs(),
    callers: createCallers(memoryCallerKeys()),
  });
  const announced = [
    [stock, 'stock'],
    [weather, 'weather'],
  ] as const;
  for (const [agent, name] of announced)
    await agent.announce(
      cardSchema.parse({ kind: 'agent', name: `${name}_agent`, app: `${name}_app`, version: '1' }),
    );
  await until(() =>
    announced.every(([, name]) => bus.directory.get('agent', `${name}_agent`)?.version === '1'),
  );
  const session = await sessions.createSession(ref);
  await sessions.leases.take(ref, { run: '{}', whenBusy: 'reject' });
  const began = await sessions.appendEvent({ session, event: speak('began') });
  const { numbered, end } = await followRun(mesh, ref);
  const heard: string[] = [];
  const all = (async () => {
    for await (const { event } of numbered) heard.push(event.content?.parts?.[0]?.text ?? '');
  })();
  await until(() => heard.length === 1);
  /** Publishes news of the run under the name of a service, as its agent does. */
  const tell = (from: Bus, payload: object, headers: Record<string, string>) =>
    from.publish(names.sessionNews(ref, ref.invocationId, from.service), payload, { headers });
  return { sessions, session, stock, weather, heard, lines, all, end, tell, began };
}

const forms = casesOfTier<Form>(['JWT', 'file']);

describe.each(forms)('with accounts in the %s form', (form) => {
  it('an agent of another app adds nothing to a run, and does not end it', async () => {
    await using owners = new AsyncDisposableStack();
    const stage = owners.use(await startStage(form));
    const { weather, stock, tell, heard, lines, all, end, session, sessions } = await watchRun(stage, owners);
    const forged = { [header.frame]: 'event', [header.seq]: '2' };
    await tell(weather, speak('forged'), forged);
    await tell(weather, speak('forged piece', { partial: true }), { [header.frame]: 'event' });
    await tell(weather, { status: 'completed', lastSeq: 2 }, { [header.frame]: 'result' });
    await until(() => lines.length > 0, { what: 'the refusal' });
    expect(lines.join()).toMatch(/agent_weather_agent.*ignored news of an agent/);
    const event = await sessions.appendEvent({ session, event: speak('true') });
    await tell(stock, speak('a piece', { partial: true }), { [header.frame]: 'event' });
    await tell(stock, event, forged);
    await sessions.invocations.end(ref, { status: 'completed' });
    await tell(stock, { status: 'completed', lastSeq: 2 }, { [header.frame]: 'result' });
    await all;
    expect(heard).toEqual(['began', 'a piece', 'true']);
    expect(await end).toMatchObject({ status: 'completed' });
    expect(lines.length).toBe(1);
  });
});
