import { runAgentService } from '@agentmesh/mesh';
import { useScriptWithoutKey } from '@agentmesh/testing/sample-model';
import { supportAgent } from './agent.ts';
import { script } from './script.ts';

await runAgentService({ agent: supportAgent, prepare: (log) => useScriptWithoutKey(script, log) });
