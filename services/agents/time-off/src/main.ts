import { runAgentService } from '@agentmesh/mesh';
import { useScriptWithoutKey } from '@agentmesh/testing/sample-model';
import { timeOffAgent } from './agent.ts';
import { script } from './script.ts';

await runAgentService({
  agent: timeOffAgent,
  app: 'time_off_app',
  prepare: (log) => useScriptWithoutKey(script, log),
});
