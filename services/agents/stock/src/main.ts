import { runAgentService } from '@agentmesh/mesh';
import { useScriptWithoutKey } from '@agentmesh/testing/sample-model';
import { stockAgent } from './agent.ts';
import { script } from './script.ts';

await runAgentService({
  agent: stockAgent,
  app: 'stock_app',
  prepare: (log) => useScriptWithoutKey(script, log),
});
