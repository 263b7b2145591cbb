import { until } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonOf, linesOf } from '../commands.fixture.ts';
import { startTalkMesh, type TalkPlace } from './talk.fixture.ts';

describe('the commands that talk to a mesh', () => {
  const owners = new AsyncDisposableStack();
  let place: TalkPlace;

  const command = (...words: string[]) => linesOf(place, words);
  const json = async (...words: string[]) => await jsonOf(place, words);
  const withAnswers = (...answers: string[]) => ({ ...place, answers, questions: [] as string[] });

  beforeAll(async () => {
    place = await startTalkMesh(owners);
  });
  afterAll(() => owners.disposeAsync());

  it('ask an app or an agent, and print the answer alone', async () => {
    expect(await command('ask', 'payer', 'please', 'pay', '7')).toEqual(['Result: {"paid":7}']);
    const [answer] = await json('ask', 'pay_app', 'pay 8', '--session', 's-8', '--user', 'ann');
    expect(answer).toMatchObject({ text: 'Result: {"paid":8}', session: 's-8', user: 'ann', pending: [] });
    await expect(command('ask', 'pay_ap', 'hi')).rejects.toThrow('did you mean pay_app?');
    expect(await command('ask', 'payer', '13')).toEqual([
      expect.stringMatching(/^✗ .*thirteen is not allowed/),
    ]);
  });

  it('chat: stream, show calls, and ask the person for confirmations', async () => {
    const person = withAnswers('hello', 'pay 500', 'perhaps', 'yes', 'pay 600', 'no');
    const chat = await linesOf(person, ['chat', 'pay_app']);
    const question = (amount: number) => `may payer call pay({"amount":${amount}})?`;
    // An answer that is neither is asked for again.
    expect(person.questions).toEqual([
      ...['> ', '> ', `${question(500)} [yes/no] `, `${question(500)} [yes/no] `],
      ...['> ', `${question(600)} [yes/no] `, '> '],
    ]);
    expect(chat).toContain(`  payer ? ${question(500)}`);
    expect(chat.join('\n')).not.toMatch(/adk_request_confirmation|originalFunctionCall|waits for a person/);
    expect(chat[0]).toMatch(/^session .* of pay_app/);
    expect(chat).toContain('payer: How much do you want to pay?');
    expect(chat).toContain('  payer → pay({"amount":500})');
    expect(chat).toContain('payer: Result: {"paid":500}');
    expect(chat.join('\n')).not.toContain('"paid":600');
    const failed = await linesOf(withAnswers('13', 'pay 9'), ['chat', 'pay_app']);
    expect(failed.join('\n')).toMatch(/✗ .*thirteen is not allowed[\s\S]*Result: {"paid":9}/);
    const events = await jsonOf(withAnswers('pay 5'), ['chat', 'pay_app']);
    expect(events).toContainEqual(
      expect.objectContaining({ author: 'payer', invocationId: expect.any(String) }),
    );
  });

  it('list pending calls of a user, and answer them', async () => {
    const [asked] = await command('ask', 'pay_app', 'pay 700', '--user', 'bob');
    expect(asked).toMatch(
      /^waits: agentmesh pending answer \S+ … {2}confirmation {2}may payer call pay\({"amount":700}\)\?/,
    );
    const [[call]] = (await json('pending', 'list', 'pay_app', '--user', 'bob')) as [[{ id: string }]];
    expect(await command('pending', 'list', '--user', 'bob')).toEqual([expect.stringContaining(call.id)]);
    await linesOf(place, ['ask', 'payer', 'pay 701', '--user', 'eve: *']);
    const [all] = (await json('pending', 'list', '--all')) as [{ user: string; args: object }[]];
    expect(all.map(({ user }) => user)).toEqual(['bob', 'eve: *']);
    expect(await command('pending', 'list', 'pay_app', '--all')).toContainEqual(
      expect.stringMatching(/^\S+ {2}\S+ {2}pay_app {2}user bob /),
    );
    expect(await command('pending', 'list', 'other_app', '--all')).toEqual(['there are none']);
    await expect(command('pending', 'answer', call.id, 'maybe', '--user', 'bob')).rejects.toThrow(
      'the answer to a confirmation is yes, no',
    );
    const lines = await command('pending', 'answer', call.id, 'yes', '--user', 'bob');
    expect(lines).toContain('payer: Result: {"paid":700}');
    const sessions = await json('sessions', 'pay_app', '--user', 'bob');
    const [[{ session }]] = sessions as [[{ session: string }]];
    const list = await json('invocations', 'list', 'pay_app', session, '--user', 'bob');
    for (const { invocation } of list[0] as { invocation: string }[]) {
      const shown = (await command('invocations', 'show', invocation, '--user', 'bob')).join('\n');
      expect(shown).not.toContain('adk_request_confirmation');
      if (!shown.includes('may payer call')) expect(shown).toContain('user  ← yes');
    }
    expect(await command('pending', 'list', '--user', 'bob')).toEqual(['there are none']);
    await expect(command('pending', 'answer', call.id, 'yes', '--user', 'bob')).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('list sessions and invocations, and show the timeline of one', async () => {
    await command('ask', 'pay_app', 'pay 3', '--session', 's-3', '--user', 'eve');
    expect(await command('sessions', '--user', 'eve')).toEqual([
      expect.stringMatching(/^pay_app {2}s-3 {2}\d{4}-/),
    ]);
    expect(await json('sessions', 'pay_app', '--user', 'nobody')).toEqual([[]]);
    const list = ['invocations', 'list', 'pay_app', 's-3', '--user', 'eve'];
    expect(await command(...list)).toEqual([
      expect.stringMatching(/^e-\S+ {2}\S+ {2}\d\.\d{3}s {2}payer {2}tokens: \d+$/),
    ]);
    const [[{ invocation }]] = (await json(...list)) as [[{ invocation: string }]];
    const [head, ...steps] = await command('invocations', 'show', invocation, '--user', 'eve');
    expect(head).toMatch(/completed {2}.*model calls: 2 {2}tokens: [1-9]/);
    expect(steps).toHaveLength(4);
    expect(steps[0]).toMatch(/^\+0\.000s {2}user {2}"pay 3"$/);
    expect(steps[1]).toMatch(/payer {2}agent_payer-\S+ {2}→ pay\({"amount":3}\) {2}tokens: \d+$/);
    expect(steps[2]).toMatch(/← pay {"paid":3} {2}took \d\.\d{3}s$/);
    expect(await json('invocations', 'show', invocation, '--user', 'eve', '--app', 'pay_app')).toMatchObject([
      {
        invocation,
        status: 'completed',
        llmCalls: 2,
        steps: [{ author: 'user' }, {}, {}, { author: 'payer' }],
      },
    ]);
    await expect(command('invocations', 'show', 'e-none', '--user', 'eve')).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('show what agents did that were asked', async () => {
    await command('ask', 'pay_app', 'ask the clerk', '--session', 's-clerk', '--user', 'eve');
    const list = await json('invocations', 'list', 'pay_app', 's-clerk', '--user', 'eve');
    const [[{ invocation }]] = list as [[{ invocation: string }]];
    const lines = await command('invocations', 'show', invocation, '--user', 'eve');
    const [call, answer] = ['→ clerk(', '"The clerk says hello."'].map((text) =>
      lines.findIndex((line) => line.includes(text)),
    );
    expect(call).toBeGreaterThan(0);
    expect(answer).toBeGreaterThan(call ?? 0);
    expect(lines[answer ?? 0]).toMatch(/^\+\S+ {2}clerk {2}/);
  });

  it('continue a session with a question: it is asked first', async () => {
    await command('ask', 'pay_app', 'pay 800', '--session', 's-800');
    const person = withAnswers('yes');
    const chat = await linesOf(person, ['chat', 'pay_app', '--session', 's-800']);
    expect(person.questions).toEqual(['may payer call pay({"amount":800})? [yes/no] ', '> ']);
    expect(chat).toContain('payer: Result: {"paid":800}');
  });

  it('list services with their replicas and load', async () => {
    const lines = await command('ls');
    expect(lines[0]).toMatch(
      /^agent {2}payer {2}3\.2\.1 {2}app pay_app {2}replicas: 1 {2}requests: 0 {2}runs: [1-9]\d* {2}errors: 0 {2}working: 0 {2}waiting: 0$/,
    );
    expect(lines[1]).toMatch(
      /^tool {2}pay {2}\S+ {2}replicas: 1 {2}requests: [1-9]\d* {2}jobs: 0 {2}errors: 0/,
    );
    expect(await json('ls')).toMatchObject([
      [
        {
          name: 'payer',
          replicas: [
            {
              replica: expect.stringMatching(/^agent_payer/),
              load: { requests: 0, work: expect.any(Number), errors: 0 },
            },
          ],
        },
        { name: 'pay' },
      ],
    ]);
  });

  it('watch events as they happen', async () => {
    const stop = new AbortController();
    const lines: string[] = [];
    const seen = (async () => {
      lines.push(
        ...(await linesOf({ ...place, signal: stop.signal }, [
          'watch',
          'pay_app',
          '--user',
          'zoe',
          '--json',
        ])),
      );
    })();
    // The subscription has no sign of its own outside: messages are sent until one is seen.
    const isSeen = async () => {
      await command('ask', 'pay_app', 'pay 4', '--user', 'zoe');
      await command('ask', 'pay_app', 'pay 4', '--user', 'other');
      return (await json('sessions', '--user', 'zoe'))[0];
    };
    await isSeen();
    await until(isSeen, { what: 'events' });
    stop.abort();
    await seen;
    const events = lines.map((line) => JSON.parse(line));
    expect(events.length).toBeGreaterThan(3);
    expect(new Set(events.map(({ user }) => user))).toEqual(new Set(['zoe']));
    const refused = { ...place, env: { ...place.env, MESH_NATS_USER: 'provision' } };
    await expect(linesOf(refused, ['watch'])).rejects.toThrow('log in as the user client');
  });

  it('report a gateway that is away, or something else at its address', async () => {
    const away = (url: string) => ({ ...place, env: { ...place.env, MESH_GATEWAY_URL: url } });
    await expect(linesOf(away('http://127.0.0.1:1'), ['sessions'])).rejects.toMatchObject({
      code: 'unavailable',
      message: 'no gateway answers at http://127.0.0.1:1',
    });
    const odd = { ...place, env: { ...place.env, MESH_GATEWAY_KEY: 'amk_…' } };
    await expect(linesOf(odd, ['sessions'])).rejects.toMatchObject({
      code: 'unauthenticated',
      message: expect.stringContaining('MESH_GATEWAY_KEY has a character'),
    });
  });
});
