import { MeshError } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { BaseAgent } from '../base/base-agent.ts';
import { brief, chat, runWithCrashes, scriptedModel } from '../harness.fixture.ts';
import { FunctionTool } from '../tools/function-tool.ts';
import { LlmAgent } from './llm-agent.ts';

describe('a transfer', () => {
  it('by the model goes to a sub-agent, which keeps the conversation and can give it back', async () => {
    const boss = await scriptedModel(
      { calls: [{ name: 'transfer_to_agent', args: { agentName: 'helper' } }] },
      { text: 'boss again' },
    );
    const helper = await scriptedModel(
      { text: 'helper here' },
      { calls: [{ name: 'transfer_to_agent', args: { agent_name: 'boss' } }] },
    );
    const agent = new LlmAgent({
      name: 'boss',
      model: boss.llm,
      description: 'Leads.',
      subAgents: [new LlmAgent({ name: 'helper', model: helper.llm, description: 'Helps.' })],
    });
    const { say } = await chat(agent);
    expect((await say('one')).map(brief)).toEqual([
      'boss: calls transfer_to_agent',
      'boss: gets {"result":"Transfer queued"}',
      'helper: helper here',
    ]);
    expect(boss.requests[0]?.systemInstruction).toContain('helper: Helps.');
    expect(helper.requests[0]?.contents.map(({ role }) => role)).toEqual(['user', 'user', 'user']);
    expect(JSON.stringify(helper.requests[0]?.contents)).toContain('[boss] called tool');
    expect((await say('two')).map(brief)).toEqual([
      'helper: calls transfer_to_agent',
      'helper: gets {"result":"Transfer queued"}',
      'boss: boss again',
    ]);
  });

  it('to an unknown agent is an error that the model can correct', async () => {
    const { llm } = await scriptedModel(
      { calls: [{ name: 'transfer_to_agent', args: { agentName: 'nobody' } }] },
      { text: 'then I do it' },
    );
    const agent = new LlmAgent({ name: 'boss', model: llm, subAgents: [new LlmAgent({ name: 'helper' })] });
    expect((await (await chat(agent)).say('go')).map(brief)).toEqual([
      'boss: calls transfer_to_agent',
      'boss: gets {"error":"no agent \\"nobody\\" to transfer to; choose one of helper"}',
      'boss: then I do it',
    ]);
  });

  it('by a tool goes to the agent that it names; to an unknown one it is an error', async () => {
    const { llm } = await scriptedModel(
      { calls: [{ name: 'route', args: { to: 'nobody' } }] },
      { calls: [{ name: 'route', args: { to: 'helper' } }] },
    );
    const helper = await scriptedModel({ text: 'here' });
    const route = new FunctionTool({
      name: 'route',
      description: 'routes',
      execute: (args, context) => {
        if (context) context.actions.transferToAgent = String(args.to);
        return { ok: true };
      },
    });
    const agent = new LlmAgent({
      name: 'boss',
      model: llm,
      tools: [route],
      subAgents: [new LlmAgent({ name: 'helper', model: helper.llm })],
    });
    expect((await (await chat(agent)).say('go')).map(brief)).toEqual([
      'boss: calls route',
      'boss: gets {"error":"tool route: \\"nobody\\" is no agent of this application"}',
      'boss: calls route',
      'boss: gets {"ok":true}',
      'helper: here',
    ]);
  });

  it("that fails is the failure of the target; the caller's model is not called again (ADK defect B22)", async () => {
    const boss = await scriptedModel({
      calls: [{ name: 'transfer_to_agent', args: { agentName: 'helper' } }],
    });
    const helper = new LlmAgent({ name: 'helper', instruction: 'Needs {nothing}', model: boss.llm });
    const agent = new LlmAgent({ name: 'boss', model: boss.llm, subAgents: [helper] });
    const events = await (await chat(agent)).say('go');
    expect(events.at(-1)).toMatchObject({ author: 'helper', errorCode: 'failed_precondition' });
    expect(boss.requests).toHaveLength(1);
  });

  it.each(['cancelled', 'deadline_exceeded'] as const)(
    'to an agent whose process learns first that the run is over (%s) ends the run, and not the agent alone',
    async (code) => {
      class Remote extends BaseAgent {
        // biome-ignore lint/correctness/useYield: it fails before its first event
        protected override async *runAsyncImpl(): AsyncGenerator<never, void, void> {
          throw new MeshError(code, 'enough');
        }
      }
      const { llm } = await scriptedModel({
        calls: [{ name: 'transfer_to_agent', args: { agentName: 'far' } }],
      });
      const { say } = await chat(
        new LlmAgent({ name: 'boss', model: llm, subAgents: [new Remote({ name: 'far' })] }),
      );
      await expect(say('go')).rejects.toMatchObject({ code, message: 'enough' });
    },
  );

  it('goes to the peers and the parent that the flags allow', async () => {
    const seen = async (flags: Partial<ConstructorParameters<typeof LlmAgent>[0]>) => {
      const { llm, requests } = await scriptedModel({ text: 'ok' });
      const one = new LlmAgent({ name: 'one', model: llm, ...flags });
      const two = new LlmAgent({ name: 'two', model: llm });
      const boss = new LlmAgent({
        name: 'boss',
        model: (await scriptedModel({ calls: [{ name: 'transfer_to_agent', args: { agentName: 'one' } }] }))
          .llm,
        subAgents: [one, two],
      });
      await (await chat(boss)).say('go');
      const parameters = requests[0]?.tools[0]?.parameters?.properties?.agentName;
      return parameters?.enum ?? [];
    };
    expect(await seen({})).toEqual(['boss', 'two']);
    expect(await seen({ disallowTransferToParent: true })).toEqual(['two']);
    expect(await seen({ disallowTransferToPeers: true })).toEqual(['boss']);
    expect(await seen({ disallowTransferToParent: true, disallowTransferToPeers: true })).toEqual([]);
  });

  it('is found again after a crash', async () => {
    const boss = await scriptedModel({
      calls: [{ name: 'transfer_to_agent', args: { agentName: 'helper' } }],
    });
    const helper = await scriptedModel({ text: 'here' });
    const agent = new LlmAgent({
      name: 'boss',
      model: boss.llm,
      subAgents: [new LlmAgent({ name: 'helper', model: helper.llm })],
    });
    expect((await runWithCrashes(agent)).map(brief)).toEqual([
      'boss: calls transfer_to_agent',
      'boss: gets {"result":"Transfer queued"}',
      'helper: here',
    ]);
  });

  it('to the parent follows an escalation, by a tool or by a callback', async () => {
    const boss = await scriptedModel(
      { calls: [{ name: 'transfer_to_agent', args: { agentName: 'helper' } }] },
      { text: 'boss again' },
      { text: 'boss keeps it' },
      { calls: [{ name: 'transfer_to_agent', args: { agentName: 'guard' } }] },
      { text: 'boss after guard' },
    );
    const helper = await scriptedModel({ calls: [{ name: 'give_up', args: {} }] });
    const giveUp = new FunctionTool({
      name: 'give_up',
      description: 'gives up',
      execute: (_args, context) => {
        if (context) context.actions.escalate = true;
      },
    });
    const agent = new LlmAgent({
      name: 'boss',
      model: boss.llm,
      subAgents: [
        new LlmAgent({ name: 'helper', model: helper.llm, tools: [giveUp] }),
        new LlmAgent({
          name: 'guard',
          model: helper.llm,
          beforeAgentCallback: ({ actions }) => {
            actions.escalate = true;
            return undefined;
          },
        }),
      ],
    });
    const { say } = await chat(agent);
    const events = await say('one');
    expect(events.map(brief).slice(2)).toEqual([
      'helper: calls give_up',
      'helper: gets {"result":null}',
      'boss: boss again',
    ]);
    expect(events[3]?.actions).toMatchObject({ escalate: true, transferToAgent: 'boss' });
    expect((await say('two')).map(brief)).toEqual(['boss: boss keeps it']);
    expect((await say('three')).map(brief).at(-1)).toBe('boss: boss after guard');
  });
});
