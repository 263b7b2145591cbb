import { runAgentService } from '@agentmesh/mesh';
import { useScriptWithoutKey } from '@agentmesh/testing/sample-model';
import { fileAgent } from './agent.ts';
import { script } from './script.ts';

await runAgentService({
  agent: fileAgent,
  app: 'file_app',
  prepare: (log) => useScriptWithoutKey(script, log),
});
