import { type BaseTool, BaseToolset, FunctionTool, LlmAgent, type ReadonlyContext } from '@agentmesh/agent';
import { z } from 'zod';
import { chat, runnerOf } from './chat.ts';

const numbers = z.object({ a: z.number(), b: z.number() });
const add = new FunctionTool({
  name: 'add',
  description: 'a + b',
  parameters: numbers,
  execute: ({ a, b }) => a + b,
});
const divide = new FunctionTool({
  name: 'divide',
  description: 'a / b',
  parameters: numbers,
  execute: ({ a, b }) => a / b,
});
const explode = new FunctionTool({ name: 'explode', description: 'Do not.', execute: () => 'boom' });

/** A toolset, which is asked for its tools at every step, so that they may depend on the state. */
class Calculator extends BaseToolset {
  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    return context?.state.get('advanced') ? [add, divide, explode] : [add, explode];
  }
  override async close(): Promise<void> {
    console.log('the calculator is switched off');
  }
}

const agent = new LlmAgent({
  name: 'clerk',
  model: 'gemini-2.5-flash',
  // Offers only these tools (a function may select them, too), with calc_ before each name.
  tools: [new Calculator(['add', 'divide'], 'calc')],
  beforeModelCallback: ({ request: { toolsDict } }) => {
    console.log(`  may call ${Object.keys(toolsDict).join(', ')}`);
    return undefined;
  },
});

const runner = runnerOf(agent);
await (await chat(runner)).say('1 + 2?');
await (await chat(runner, { advanced: true })).say('1 / 2?');
await runner.close(); // Toolsets are closed with the runner or the service, not after each run.
