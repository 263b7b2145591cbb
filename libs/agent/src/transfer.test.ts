import { describe, expect, it } from 'vitest';
import { AgentTool } from './agent-tool.ts';
import { FunctionTool } from './function-tool.ts';
import { brief, chat, scriptedModel } from './harness.fixture.ts';
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

  it('to an unknown agent is an error that the model can mend', async () => {
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
});

describe('an agent as a tool', () => {
  const parent = (...[first, ...rest]: Parameters<typeof scriptedModel>) =>
    scriptedModel(first ?? { text: '' }, ...rest);

  it('answers its caller, sees its state, and its changes come back with the response', async () => {
    const child = await scriptedModel({ calls: [{ name: 'note', args: {} }] }, { text: 'child says' });
    const note = new FunctionTool({
      name: 'note',
      description: 'notes',
      execute: (_args, context) => {
        context?.state.set('noted', context.state.get('given'));
        context?.state.set('temp:shared', 'yes');
        return {};
      },
    });
    const look = new FunctionTool({
      name: 'look',
      description: 'looks',
      execute: (_args, context) => ({ shared: context?.state.get('temp:shared') }),
    });
    const { llm } = await parent(
      { calls: [{ name: 'child', args: { request: 'do it' } }] },
      { calls: [{ name: 'look', args: {} }] },
      { text: 'parent says' },
    );
    const agent = new LlmAgent({
      name: 'parent',
      model: llm,
      tools: [
        new AgentTool({ agent: new LlmAgent({ name: 'child', model: child.llm, tools: [note] }) }),
        look,
      ],
    });
    const { say, stored } = await chat(agent, { given: 42 });
    expect((await say('go')).map(brief)).toEqual([
      'parent: calls child',
      'parent: gets {"result":"child says"}',
      'parent: calls look',
      'parent: gets {"shared":"yes"}',
      'parent: parent says',
    ]);
    expect((await stored()).state).toEqual({ given: 42, noted: 42 });
  });

  it('begins afresh at every call', async () => {
    const child = await scriptedModel({ text: 'first' }, { text: 'second' });
    const call = { calls: [{ name: 'child', args: { request: 'x' } }] };
    const { llm } = await parent(call, call, { text: 'ok' });
    const agent = new LlmAgent({
      name: 'parent',
      model: llm,
      tools: [new AgentTool({ agent: new LlmAgent({ name: 'child', model: child.llm }) })],
    });
    await (await chat(agent)).say('go');
    expect(child.requests.map(({ contents }) => contents.length)).toEqual([1, 1]);
  });

  it('passes its failure on as an error', async () => {
    const child = await scriptedModel({ error: { status: 400, message: 'no such model' } });
    const { llm } = await parent({ calls: [{ name: 'child', args: { request: 'x' } }] }, { text: 'pity' });
    const agent = new LlmAgent({
      name: 'parent',
      model: llm,
      tools: [new AgentTool({ agent: new LlmAgent({ name: 'child', model: child.llm }) })],
    });
    const [, response] = await (await chat(agent)).say('go');
    expect(response && brief(response)).toMatch(/tool child failed: agent child failed: .*no such model/);
  });

  it('is the answer itself with skipSummarization', async () => {
    const child = await scriptedModel({ text: 'final' });
    const { llm } = await parent({ calls: [{ name: 'child', args: { request: 'x' } }] });
    const agent = new LlmAgent({
      name: 'parent',
      model: llm,
      tools: [
        new AgentTool({ agent: new LlmAgent({ name: 'child', model: child.llm }), skipSummarization: true }),
      ],
    });
    expect((await (await chat(agent)).say('go')).map(brief)).toEqual([
      'parent: calls child',
      'parent: gets {"result":"final"}',
    ]);
  });
});
