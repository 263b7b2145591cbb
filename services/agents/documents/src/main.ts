import { runAgentService } from '@agentmesh/mesh';
import { useScriptWithoutKey } from '@agentmesh/testing/sample-model';
import { documentAgent } from './agent.ts';
import { script } from './script.ts';

await runAgentService({
  agent: documentAgent,
  app: 'document_app',
  prepare: (log) => useScriptWithoutKey(script, log),
});
