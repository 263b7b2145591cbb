import type { ServiceManifest } from '@agentmesh/mesh';
import { describe, expect, it } from 'vitest';
import { deployedServices } from './deployed-service.ts';

const program = (kind: 'agent' | 'tool', name: string) => ({
  manifest: { kind, name, transfers: [], asks: [], calls: [] } satisfies ServiceManifest,
  program: `${kind}s/${name}/main.ts`,
});

describe('the services of a deployment', () => {
  it('are the gateway and all agents and tools, in one image, with users of their own', () => {
    const services = deployedServices(
      [program('agent', 'trip_planner'), program('tool', 'get_time')],
      'shop',
    );
    expect(
      services.map(({ name, user, image, args }) => [name, user, image, args?.at(-1)?.split(' ').at(-1)]),
    ).toEqual([
      ['gateway', 'gateway', 'shop', '"agentmesh/gateway"'],
      ['trip-planner', 'agent_trip_planner', 'shop', 'agents/trip_planner/main.ts'],
      ['get-time-tool', 'tool_get_time', 'shop', 'tools/get_time/main.ts'],
    ]);
  });

  it('are also a keeper when one of them uses files', () => {
    const { manifest, ...rest } = program('tool', 'read_file');
    const services = deployedServices([{ ...rest, manifest: { ...manifest, usesArtifacts: true } }], 'shop');
    expect(services.map(({ name, user, args }) => [name, user, args?.at(-1)])).toEqual([
      ['gateway', 'gateway', 'import "agentmesh/gateway"'],
      ['keeper', 'keeper', 'import "agentmesh/keeper"'],
      ['read-file-tool', 'tool_read_file', 'tools/read_file/main.ts'],
    ]);
  });

  it.each([
    [
      [program('agent', 'TripPlanner')],
      'agent TripPlanner cannot be rendered: TripPlanner is no name of Kubernetes',
    ],
    [[program('tool', '_x')], 'tool _x cannot be rendered: -x-tool is no name of Kubernetes'],
    [[program('agent', 'nats')], 'agent nats cannot be rendered: nats is another part of the deployment'],
    [
      [program('agent', 'pay_tool'), program('tool', 'pay')],
      'tool pay cannot be rendered: agent pay_tool is also called pay-tool',
    ],
  ])('are refused by name: %#', (programs, message) => {
    expect(() => deployedServices(programs, 'shop')).toThrow(message);
  });
});
