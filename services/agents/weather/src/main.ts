import { runAgentService } from '@agentmesh/mesh';
import { useScriptWithoutKey } from '@agentmesh/testing/sample-model';
import { weatherAgent } from './agent.ts';
import { script } from './script.ts';

await runAgentService({
  agent: weatherAgent,
  app: 'weather_app',
  prepare: (log) => useScriptWithoutKey(script, log),
});
