import { runAgentService } from '@agentmesh/mesh';
import { useScriptWithoutKey } from '@agentmesh/testing/sample-model';
import { reimbursementAgent } from './agent.ts';
import { script } from './script.ts';

await runAgentService({
  agent: reimbursementAgent,
  app: 'reimbursement_app',
  prepare: (log) => useScriptWithoutKey(script, log),
});
