import { runAgentService } from '@agentmesh/mesh';
import { useScriptWithoutKey } from '@agentmesh/testing/sample-model';
import { customerAgent } from './agent.ts';
import { script } from './script.ts';

await runAgentService({
  agent: customerAgent,
  app: 'customer_app',
  prepare: (log) => useScriptWithoutKey(script, log),
});
