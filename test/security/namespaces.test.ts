import { readFileSync } from 'node:fs';
import { connectNats, provision } from '@agentmesh/bus';
import { busName, clientManifest, gatewayManifest, natsAccounts, provisionUser } from '@agentmesh/mesh';
import { subjects } from '@agentmesh/protocol';
import { startNats } from '@agentmesh/testing/servers';
import { casesOfTier } from '@agentmesh/testing/tiers';
import { connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import { startResolverStage } from '../resolver.fixture.ts';
import { type Form, services } from './stage.fixture.ts';

const namespaces = ['mesh', 'shop'] as const;
type Namespace = (typeof namespaces)[number];
const few = services.filter(({ name }) => ['weather_agent', 'get_weather'].includes(name));
const users = [provisionUser, ...[gatewayManifest, clientManifest, ...few].map(busName)];
const agent = 'weather_agent';

type Login = { user: string; pass: string } | { credsFile: string };

/** A server with two meshes of the same services. */
interface TwoMeshes extends AsyncDisposable {
  url: string;
  login(namespace: Namespace, user: string): Login;
}

async function startTwo(form: Form): Promise<TwoMeshes> {
  if (form === 'JWT') {
    const stage = await startResolverStage(few);
    const shop = await stage.addMesh('shop', few);
    const credsOf = { mesh: stage.credsOf, shop: shop.creds };
    return {
      url: stage.url,
      login: (namespace, user) => ({ credsFile: credsOf[namespace](user) }),
      [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose](),
    };
  }
  const password = (user: string) => `secret of ${user}`;
  const meshes = namespaces.map((namespace) => ({ services: few, password, namespace }));
  const server = await startNats({ configuration: natsAccounts(...meshes) });
  return {
    url: server.url,
    login(namespace, service) {
      const user = namespace === 'mesh' ? service : `${namespace}:${service}`;
      return { user, pass: password(user) };
    },
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

function optionsOf(login: Login) {
  return 'credsFile' in login
    ? { authenticator: credsAuthenticator(readFileSync(login.credsFile)) }
    : { user: login.user, pass: login.pass };
}

/** Messages that a service of any mesh could send to any other one. */
function subjectsOf(namespace: Namespace): string[] {
  const names = subjects(namespace);
  const service = `agent_${agent}`;
  const session = { appName: 'app', userId: 'ann', sessionId: 's' };
  return [
    ...[names.agentAsk(agent), names.agentDelegate(agent), names.toolCall('get_weather'), names.pending],
    ...[names.agentRun(agent, 's'), names.operation(agent, 'c', 'gateway'), names.dead('agent', agent)],
    ...[names.sessionNews(session, 'i', service), names.invocationCancel('i', service)],
    ...[`$KV.${names.cardBucket}.${names.cardKey('agent', agent)}`, `$SRV.PING.${names.shownAs(agent)}`],
    ...[`${names.inboxPrefix('gateway')}.x`, `$JS.API.STREAM.PURGE.${names.workStream('run')}`],
  ];
}

describe.each(casesOfTier<Form>(['JWT', 'file']))(
  'two meshes on one NATS, with accounts in the %s form',
  (form) => {
    it('see nothing of each other, and work', async () => {
      await using two = await startTwo(form);
      await using owners = new AsyncDisposableStack();
      const { url } = two;
      const open = async (namespace: Namespace, user: string): Promise<NatsConnection> => {
        const inboxPrefix = subjects(namespace).inboxPrefix(user);
        const options = optionsOf(two.login(namespace, user));
        const connection = await connect({ servers: url, inboxPrefix, ...options });
        owners.defer(() => connection.close());
        return connection;
      };
      for (const namespace of namespaces) {
        const login = two.login(namespace, provisionUser);
        await provision({ url, ...login, namespace, agents: [agent], tools: [], storage: 'memory' });
      }
      // The operator may listen to everything in its account.
      const operator = await open('shop', provisionUser);
      const heard: string[] = [];
      const asked: Namespace[] = [];
      operator.subscribe('>', { callback: (_error, { subject }) => void heard.push(subject) });
      const serve = async (namespace: Namespace) => {
        const service = `agent_${agent}`;
        const login = two.login(namespace, service);
        const bus = owners.use(await connectNats({ url, service, namespace, ...login }));
        await bus.serve(subjects(namespace).agentAsk(agent), async function* () {
          asked.push(namespace);
          yield { type: 'result', data: { from: namespace } };
        });
      };
      for (const namespace of namespaces) await serve(namespace);
      await operator.flush();
      heard.length = 0;
      for (const user of users) {
        const intruder = await open('mesh', user);
        for (const subject of subjectsOf('shop')) intruder.publish(subject, 'intruder');
        await intruder.flush();
      }
      for (const namespace of namespaces) {
        const login = two.login(namespace, 'client');
        await using client = await connectNats({ url, service: 'client', namespace, cards: false, ...login });
        const frames = await Array.fromAsync(client.request(subjects(namespace).agentAsk(agent), {}));
        expect(frames.at(-1)).toMatchObject({ data: { from: namespace } });
      }
      await operator.flush();
      expect(heard).toEqual([]);
      expect(asked).toEqual(namespaces);
      const streams = (await operator.request('$JS.API.STREAM.NAMES', '{}')).json<{ streams: string[] }>();
      expect(streams.streams.filter((name) => !/^(?:\w+_)?SHOP_/.test(name))).toEqual([]);
      expect(streams.streams.length).toBeGreaterThan(5);
    });
  },
);

it('two meshes with one namespace are refused', () => {
  const mesh = { services: few, password: () => 'x' };
  expect(() => natsAccounts(mesh, { ...mesh, namespace: 'mesh' })).toThrow(
    'two meshes have the namespace mesh',
  );
});
