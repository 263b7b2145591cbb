import { deployedServices, renderCompose } from '@agentmesh/cli/render';
import { startNats } from '@agentmesh/testing/servers';
import { connect } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import { parse } from 'yaml';

/** The variables of a container. */
type Environment = Record<string, string | undefined>;

const programs = [
  {
    manifest: { kind: 'agent' as const, name: 'desk', app: 'desk', transfers: [], asks: [], calls: ['pay'] },
    program: 'agents/desk/main.ts',
  },
  {
    manifest: { kind: 'tool' as const, name: 'pay', transfers: [], asks: [], calls: [] },
    program: 'tools/pay/main.ts',
  },
];

it.each(['mesh', 'blue'])(
  'services of the namespace %s log in as the rendered files say',
  async (namespace) => {
    const mesh = { project: 'shop', namespace, services: deployedServices(programs, 'shop') };
    const { files } = renderCompose(mesh);
    const { services } = parse(files['compose.yaml'] ?? '', { merge: true });
    const { nats: server, redis: _redis, ...own } = services;
    const logins = Object.values<{ environment: Environment }>(own).map(({ environment }) => environment);
    const secretOf = (variable: string) => `secret-of-${variable}`;
    const variables = Object.keys(server.environment);
    const configuration = (files['nats/nats-server.conf'] ?? '').replace(
      /\$(NATS_PASSWORD_[^\s,}]+)/g,
      (_text, name: string) => {
        expect(variables).toContain(name);
        return secretOf(name);
      },
    );
    await using nats = await startNats({ configuration });
    for (const { MESH_NATS_USER: user = '', MESH_NATS_PASSWORD = '' } of logins) {
      const [variable = ''] = /NATS_PASSWORD_\w+/.exec(MESH_NATS_PASSWORD) ?? [];
      const connection = await connect({
        servers: nats.url,
        user,
        pass: secretOf(variable),
        reconnect: false,
      });
      await connection.close();
    }
  },
);
