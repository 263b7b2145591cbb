import { runAgentService } from '@agentmesh/mesh';
import { useScriptWithoutKey } from '@agentmesh/testing/sample-model';
import { assistantAgent } from './agent.ts';
import { script } from './script.ts';

await runAgentService({
  agent: assistantAgent,
  app: 'assistant_app',
  prepare: (log) => useScriptWithoutKey(script, log),
});
