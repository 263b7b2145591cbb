import { deployedServices, renderCompose, renderKubernetes } from '@agentmesh/cli/render';
import { startNats } from '@agentmesh/testing/servers';
import { connect } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

/** The variables of a container; in Kubernetes a secret has no value here. */
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
    const { services } = parse(renderCompose(mesh).files['compose.yaml'] ?? '', { merge: true });
    const { nats: server, redis: _redis, ...own } = services;
    const logins = Object.values<{ environment: Environment }>(own).map(({ environment }) => environment);
    const secretOf = (variable: string) => `secret-of-${variable}`;
    const variables = Object.keys(server.environment);
    const { files } = renderKubernetes(mesh);
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
    const inKubernetes = Object.values(files)
      .flatMap((text) => (text.includes('containers:') ? parseAllDocuments(text) : []))
      .flatMap((document) => document.toJS().spec?.template?.spec?.containers ?? [])
      .flatMap(({ env = [] }: { env?: { name: string; value?: string }[] }) =>
        env.flatMap(({ name, value }) => (name === 'MESH_NATS_USER' ? [value] : [])),
      );
    expect(inKubernetes.sort()).toEqual(logins.map(({ MESH_NATS_USER }) => MESH_NATS_USER).sort());
  },
);
