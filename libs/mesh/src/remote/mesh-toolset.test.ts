import { FunctionTool, LlmAgent } from '@agentmesh/agent';
import { until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { permissionsOf } from '../rights/permissions.ts';
import { agentManifest, toolManifest } from '../rights/service-manifest.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { serveTool } from '../serve/serve-tool.ts';
import { MeshToolset, matchesAny } from './mesh-toolset.ts';

const tool = (name: string, more: object = {}) =>
  new FunctionTool({ name, description: `does ${name}`, execute: () => ({ by: name, ...more }) });

const offered = (llm: ScriptedLlm, at: number) =>
  llm.requests[at]?.config.tools?.flatMap((each) =>
    'functionDeclarations' in each ? (each.functionDeclarations ?? []).map(({ name }) => name) : [],
  );

describe('MeshToolset', () => {
  it('offers the tools that are on the bus and match, as they start and stop', async () => {
    const world = memoryMesh();
    const llm = new ScriptedLlm(calls('math_add'), says('3'), calls('math_mul'), says('gone'), says('bye'));
    const root = new LlmAgent({ name: 'root', model: llm, tools: [new MeshToolset({ names: 'math_*' })] });
    const mesh = await world.connect('agent_root');
    await serveAgent(mesh, root, { app: 'app' });
    const add = await serveTool(await world.connect('tool_add'), tool('math_add'));
    await serveTool(await world.connect('tool_other'), tool('other'));
    await until(() => mesh.bus.directory.list('tool').length === 2, { what: 'the cards of two tools' });
    const { say } = await world.chat('app');
    expect((await say('1 + 2')).events.map(brief)[1]).toBe('root: gets {"by":"math_add"}');
    expect(offered(llm, 0)).toEqual(['math_add']);
    await serveTool(await world.connect('tool_mul'), tool('math_mul'));
    await until(() => mesh.bus.directory.list('tool').length === 3, { what: 'the card of the third' });
    expect((await say('2 * 3')).events.map(brief)[1]).toBe('root: gets {"by":"math_mul"}');
    expect(offered(llm, 2)).toEqual(['math_add', 'math_mul']);
    await add.stop();
    const toolset = new MeshToolset({ names: ['math_*'] });
    toolset.mesh.set(mesh);
    expect((await toolset.getTools()).map(({ name }) => name)).toEqual(['math_mul']);
  });

  it('gives way to a tool of the agent itself, and puts its prefix before the names', async () => {
    const world = memoryMesh();
    await serveTool(await world.connect('tool_add'), tool('add', { from: 'afar' }));
    const llm = new ScriptedLlm(calls('add'), calls('far_add'), says('ok'));
    const root = new LlmAgent({
      name: 'root',
      model: llm,
      tools: [
        new MeshToolset({ names: '*' }),
        tool('add', { from: 'here' }),
        new MeshToolset({ names: 'add', prefix: 'far' }),
      ],
    });
    await serveAgent(await world.connect('agent_root'), root, { app: 'app' });
    const { events } = await (await world.chat('app')).say('go');
    expect(offered(llm, 0)).toEqual(['add', 'far_add']);
    expect(events.map(brief).filter((each) => each.includes('gets'))).toEqual([
      'root: gets {"by":"add","from":"here"}',
      'root: gets {"by":"add","from":"afar"}',
    ]);
  });

  it('may call the tools of its pattern that the configuration knows, and no others', () => {
    const root = new LlmAgent({ name: 'root', tools: [new MeshToolset({ names: 'math_*' })] });
    const manifest = agentManifest(root);
    const all = [manifest, toolManifest(tool('math_add')), toolManifest(tool('other'))];
    const { publish } = permissionsOf(manifest, all);
    expect(publish).toContain('mesh.v1.tool.math_add.call');
    expect(publish).toContain('$SRV.PING.*');
    expect(publish.filter((subject) => subject.includes('.tool.'))).toHaveLength(1);
    const any = new LlmAgent({ name: 'any', tools: [new MeshToolset({ names: '*' })] });
    expect(permissionsOf(agentManifest(any), all).publish).toContain('mesh.v1.tool.*.call');
  });

  it.each([
    ['math_*', 'math_add', true],
    ['math_*', 'meth_add', false],
    ['*_add', 'math_add', true],
    ['add', 'add2', false],
    ['a.d', 'abd', false],
    ['*', 'anything', true],
  ])('the pattern %s and the name %s: %s', (pattern, name, fits) => {
    expect(matchesAny([pattern], name)).toBe(fits);
  });

  it('needs a name', () => {
    expect(() => new MeshToolset({ names: [] })).toThrow(/names/);
  });
});
